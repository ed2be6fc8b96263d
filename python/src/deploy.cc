// Deploying: what searches have found, as a file of code that programs run.
#include "mneme/deploy/deploy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "mneme/base/output_file.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

// The folder, the kernel, and why it is left out; empty: it is deployed.
using Outcome = std::tuple<std::string, std::string, std::string>;

Result<std::vector<Outcome>> deploy_into(const std::vector<std::string>& results, const std::string& output, bool unconfirmed,
                                         const std::optional<std::string>& l2) {
  MNEME_TRY(check_output_file(output));
  DeployTerms terms{unconfirmed ? Unconfirmed::take : Unconfirmed::leave_out, {}};
  if (l2) {
    MNEME_ASSIGN(terms.l2, parse_cache_state(*l2));
  }
  MNEME_ASSIGN(const Deployment deployed, deploy_all(results, terms));
  if (!deployed.file.kernels.empty()) MNEME_TRY(write_output_file(output, encode_tuned(deployed.file)));
  std::vector<Outcome> outcomes;
  for (const Deployed& one : deployed.outcomes)
    outcomes.emplace_back(one.folder.string(), one.kernel, one.left_out.ok() ? "" : one.left_out.message());
  return outcomes;
}

}  // namespace

void bind_deploy(nb::module_& module) {
  module.def(
      "deploy",
      [](const std::vector<std::string>& results, const std::string& output, bool unconfirmed,
         const std::optional<std::string>& l2) {
        auto outcomes = [&] {
          nb::gil_scoped_release release;
          return deploy_into(results, output, unconfirmed, l2);
        }();
        return unwrap(std::move(outcomes));
      },
      nb::arg("results"), nb::arg("output"), nb::kw_only(), nb::arg("unconfirmed"), nb::arg("l2").none());
}

}  // namespace mneme::python
