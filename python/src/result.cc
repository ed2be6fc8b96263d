// PoolResult: what became of one configuration.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.h"
#include "bind.h"
#include "config.h"
#include "errors.h"
#include "json.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/pool/result_log.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

std::optional<std::string> failure(const PoolResult& result) {
  if (!result.failed()) return std::nullopt;
  return std::string(to_string(result.failure));
}

// Of several instances the largest.
std::optional<uint64_t> registers(const PoolResult& self) {
  std::optional<uint64_t> most;
  for (const ReplayResult* result : self.details.each())
    if (result->reg_usage) most = std::max<uint64_t>(most.value_or(0), *result->reg_usage);
  return most;
}

std::optional<uint64_t> object_size(const PoolResult& self) {
  std::optional<uint64_t> most;
  for (const ReplayResult* result : self.details.each())
    if (result->obj_size) most = std::max(most.value_or(0), result->obj_size->count);
  return most;
}

std::optional<uint64_t> instructions(const PoolResult& self) {
  std::optional<uint64_t> most;
  for (const ReplayResult* result : self.details.each())
    if (result->instructions) most = std::max(most.value_or(0), *result->instructions);
  return most;
}

std::optional<uint64_t> spilled_by(const ReplayResult& result) {
  if (result.spill_store_bytes || result.spill_load_bytes)
    return result.spill_store_bytes.value_or(Bytes()).count + result.spill_load_bytes.value_or(Bytes()).count;
  if (result.vgpr_spills || result.sgpr_spills) return uint64_t{result.vgpr_spills.value_or(0)} + result.sgpr_spills.value_or(0);
  return std::nullopt;
}

std::optional<uint64_t> spills(const PoolResult& self) {
  std::optional<uint64_t> most;
  for (const ReplayResult* result : self.details.each())
    if (const auto spilled = spilled_by(*result)) most = std::max(most.value_or(0), *spilled);
  return most;
}

std::optional<std::string> object_hash(const PoolResult& self) {
  std::string all;
  for (const ReplayResult* result : self.details.each())
    if (result->obj_hash) all += (all.empty() ? "" : "+") + result->obj_hash->hex();
  return all.empty() ? std::nullopt : std::optional(all);
}

std::optional<double> compile_time(const PoolResult& self) {
  const std::optional<Nanoseconds> time = self.details.compile_time();
  return time ? std::optional(time->count()) : std::nullopt;
}

std::optional<double> time(const PoolResult& result) {
  const std::vector<Nanoseconds>& times = result.details.together.exec_time;
  if (result.failed() || times.empty()) return std::nullopt;
  return statistics_of(times).median.count();
}

nb::object read_results(const std::string& path) {
  auto run = [&] {
    nb::gil_scoped_release release;
    return read_log(path);
  }();
  LoggedRun log = unwrap(std::move(run));
  return nb::make_tuple(python_of(log.about), nb::cast(std::move(log.results)));
}

}  // namespace

void bind_result(nb::module_& module) {
  nb::class_<PoolResult>(module, "PoolResult", "What became of one configuration, as the C++ API has it.")
      .def_prop_ro("configuration", [](const PoolResult& self) { return Config(self.configuration); })
      .def_prop_ro("failure", &failure)
      .def_ro("reason", &PoolResult::reason)
      .def_prop_ro("verified", [](const PoolResult& self) { return self.details.together.verified; })
      .def_prop_ro("registers", &registers)
      .def_prop_ro("object_size", &object_size)
      .def_prop_ro("instructions", &instructions)
      .def_prop_ro("spills", &spills)
      .def_prop_ro("object_hash", &object_hash)
      .def_prop_ro("compile_time", &compile_time)
      .def_prop_ro("origin", [](const PoolResult& self) { return std::string(to_string(self.origin)); })
      .def_prop_ro(
          "shared_with",
          [](const PoolResult& self) { return self.shared_with ? std::optional(self.shared_with->hex()) : std::nullopt; })
      .def_ro("label", &PoolResult::label)
      .def_prop_ro(
          "times", [](const PoolResult& self) { return array_of(self.exec_time()); }, nb::rv_policy::automatic)
      .def_prop_ro("time", &time)
      .def_prop_ro(
          "details", [](const PoolResult& self) { return python_of(to_json(self.details)); },
          nb::sig("def details(self) -> dict[str, typing.Any]"))
      .def(
          "to_dict", [](const PoolResult& self) { return python_of(to_json(self)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"))
      .def_static(
          "from_dict", [](nb::handle members) { return unwrap(pool_result_from_json(json_of(members, "a result"))); },
          nb::arg("members").none());
  module.def("read_results", &read_results, nb::arg("path"),
             nb::sig("def read_results(path: str) -> tuple[dict[str, typing.Any], list[PoolResult]]"),
             "What a log is about, and its results.");
  module.def(
      "compile_stages", [] { return std::vector<std::string>(kCompileStages.begin(), kCompileStages.end()); },
      "The stages of a result's times in which code was made, or was found in the cache.");
}

}  // namespace mneme::python
