// mneme deploy: what searches have found, as code that programs run (mneme run --tuned).
#include "mneme/deploy/deploy.h"

#include <fmt/format.h>

#include <algorithm>

#include "mneme/base/output_file.h"
#include "mneme/base/shown.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/tuned_text.h"
#include "mneme/deploy/explain.h"
#include "mneme/sweep/folder.h"

namespace mneme::cli {
namespace {

constexpr int kExitDeployed = 0;
constexpr int kExitNothingDeployed = 1;

class DeployCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    auto* results =
        app.add_option("RESULTS", results_,
                       "folders of results of `mneme sweep` and `mneme tune`, and files of earlier deployments, also of "
                       "other GPUs: what comes later takes the place of what is for the same launches");
    auto* output = app.add_option("-o,--output", output_, "the file to write")->type_name("FILE");
    app.add_flag("--unconfirmed", unconfirmed_, "deploy also what is not confirmed to be faster");
    app.add_option("--l2", l2_,
                   "what launches find in the L2 cache, in the program: it is measured there alone (default: in each state, and "
                   "what is least is promised)")
        ->check(CLI::IsMember({"as_it_comes", "cold", "warm"}));
    app.add_option("--show", show_, "print what such a file has, and deploy nothing")
        ->type_name("FILE")
        ->excludes(results)
        ->excludes(output);
    app.add_flag(
           "--explain", explain_,
           "deploy nothing, and print what each thing of what was found is worth, and what to write for it in the source: it is "
           "taken back alone, and the rest is measured in turn with all of it and with the launch as recorded. "
           "RESULTS/explained.json has the same for `mneme report`")
        ->excludes(output);
    guard_.declare(app);
    app.footer(
        "Each winner is compiled as in its search, replayed on the recorded launches, and written where it is right. What no "
        "search "
        "has confirmed is measured in turn with the launch as recorded. So is all on a GPU whose cache is cold, or warm, unless "
        "its search "
        "has "
        "measured that: a program may launch in any state. What is not faster then is left out, and said.\n"
        "Exit status: 0 something is deployed, 1 nothing is, and no file is written, 2 the command could not work, 64 the "
        "command "
        "line is wrong.");
  }

  int run() override {
    if (!show_.empty()) return show();
    if (explain_ && !results_.empty())
      return guard_.run(
          [&]() -> Outcome {
            auto outcome = explain_all();
            return outcome.ok() ? std::move(*outcome) : Outcome{"", report(outcome.status())};
          },
          [](const Status&) { return Outcome{"", kExitCannotRun}; });
    if (results_.empty() || output_.empty())
      return report_usage("deploy", "name folders of results and the file to write: mneme deploy RESULTS -o app.tuned");
    return guard_.run(
        [&]() -> Outcome {
          auto outcome = write();
          return outcome.ok() ? std::move(*outcome) : Outcome{"", report(outcome.status())};
        },
        [](const Status&) { return Outcome{"", kExitCannotRun}; });
  }

 private:
  int show() const {
    auto file = read_tuned(show_);
    if (!file.ok()) return report(file.status());
    write_output(tuned_text(*file, show_));
    return kExitDeployed;
  }

  Result<Outcome> write() {
    MNEME_TRY(check_output_file(output_));
    DeployTerms terms{unconfirmed_ ? Unconfirmed::take : Unconfirmed::leave_out, {}};
    if (!l2_.empty()) {
      MNEME_ASSIGN(terms.l2, parse_cache_state(l2_));
    }
    const auto deployed = [&]() -> Result<Deployment> {
      DivertedOutput diverted;
      Progress line;
      return deploy_all(results_, terms, [&](const std::string& stage) { line.stage(stage); });
    }();
    MNEME_TRY(deployed.status());
    std::string text = outcome_lines(deployed->outcomes);
    const std::string output = shown(output_);
    const size_t kernels = deployed->file.kernels.size();
    if (kernels == 0) return Outcome{text + fmt::format("nothing to deploy: {} is not written\n", output), kExitNothingDeployed};
    MNEME_TRY(write_output_file(output_, encode_tuned(deployed->file)));
    text += fmt::format("{}: {} {} with deployed code; mneme run --tuned {} -- PROGRAM\n", output, kernels,
                        kernels == 1 ? "kernel" : "kernels", output);
    return Outcome{text, kExitDeployed};
  }

  // A line for each folder, or for each part of its launches of which something else is to be said.
  static std::string outcome_lines(const std::vector<Deployed>& outcomes) {
    std::string text;
    for (auto at = outcomes.begin(); at != outcomes.end();) {
      const auto differs = [&](const Deployed& one) {
        return one.folder != at->folder || one.kernel != at->kernel || one.left_out.message() != at->left_out.message();
      };
      const auto end = std::find_if(at, outcomes.end(), differs);
      const auto launches = end - at;
      const std::string several = launches == 1 ? "" : fmt::format(", {} launches,", launches);
      const std::string left_out = at->left_out.ok() ? "" : " is left out: " + shown(at->left_out.message());
      text += fmt::format("{}: {}{}{}\n", shown(at->folder.string()), shown(at->kernel), several,
                          at->left_out.ok() && launches > 1 ? " is deployed" : left_out);
      at = end;
    }
    return text;
  }

  Result<Outcome> explain_all() {
    std::string text;
    int exit_status = kExitDeployed;
    for (const std::string& folder : results_) {
      MNEME_ASSIGN(const FoundConfiguration found, read_found(folder));
      const auto explained = [&]() -> Result<std::vector<Explanation>> {
        DivertedOutput diverted;
        Progress line;
        const HeldAddresses held = hold_addresses(found);
        MNEME_ASSIGN(const auto device, Device::open(found.device));
        return explain(found, *device, [&](const std::string& stage) { line.stage(stage); });
      }();
      MNEME_TRY(explained.status());
      for (const Explanation& one : *explained) {
        text += shown_lines(describe(one));
        if (!one.failure.ok()) exit_status = kExitNothingDeployed;
      }
      const std::string json = to_text(to_json(*explained, found.configuration));
      MNEME_TRY(write_output_file(ResultsFolder{folder}.explained(), std::as_bytes(std::span(json))));
    }
    return Outcome{text, exit_status};
  }

  std::vector<std::string> results_;
  std::string output_, show_, l2_;
  bool unconfirmed_ = false, explain_ = false;
  Guard guard_;
};

const Registration registration(
    {.name = "deploy",
     .summary = "write what searches have found as code that programs run",
     .examples = {{"mneme deploy results -o app.tuned --unconfirmed",
                   "what was found, surely faster or not; then: mneme run --tuned app.tuned -- ./app"},
                  {"mneme deploy --show app.tuned", "which kernels, for which launches, on what evidence"}}},
    [] { return std::make_unique<DeployCommand>(); });

}  // namespace
}  // namespace mneme::cli
