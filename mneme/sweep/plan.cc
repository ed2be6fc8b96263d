#include "mneme/sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "mneme/base/output_file.h"
#include "mneme/compile/backend.h"
#include "mneme/pool/pipeline_check.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/device_knobs.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 3;
constexpr uint64_t kMostRandom = 10'000'000;  // they are held in memory, all the others of a grid are not
// Of the database, from the folder of results.
constexpr char kFromHere[] = "database_from_here";
constexpr char kPasses[] = "passes", kO3[] = "default<O3>";
constexpr std::string_view kNoDevice = "none";                      // in the place of a kind, where nothing is run
constexpr char kRandom[] = "random", kExhaustive[] = "exhaustive";  // samplers, as `mneme tune` calls them

Status corrupt(std::string_view what) { return error(Code::corrupt, "the plan of a sweep: {}", what); }

Result<std::vector<Digest>> digests(const Json& json) {
  std::vector<Digest> all;
  if (!json.is_array()) return corrupt("'instances' is no list");
  for (const Json& text : json) {
    auto digest = text.is_string() ? Digest::from_hex(text.get<std::string>()) : Result<Digest>(corrupt("a hash is no text"));
    if (!digest.ok()) return corrupt("'instances' has what is no hash");
    all.push_back(*digest);
  }
  return all;
}

Json limits_json(const PoolLimits& limits) {
  return {{"compile_timeout", limits.compiling.count()},
          {"run_timeout", limits.running.count()},
          {"compile_memory", limits.compile_memory.count}};
}

// As `mneme sweep` takes them.
Result<PoolLimits::Seconds> limit(const Json& limits, const char* name) {
  const double seconds = limits.at(name).get<double>();
  if (seconds >= 0.001 && seconds <= 1e6) return PoolLimits::Seconds(seconds);
  return corrupt(fmt::format("'{}' must be from 0.001 to 1000000 seconds, not {}", name, seconds));
}

Path whole(const Path& path) { return std::filesystem::absolute(path).lexically_normal(); }

Path kernel_file(const SweepPlan& plan, const Path& database) { return database / (plan.static_hash.hex() + ".json"); }

Status write_plan(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files) {
  Json json = to_json(plan);
  json[kFromHere] = plan.database.lexically_relative(whole(folder.path)).string();
  const std::string text = json_text(json, 2) + "\n";
  return write_output_file(folder.plan(), std::as_bytes(std::span(text)), files);
}

// ok unless `check` refuses the base, as far as no axis takes its place, or every value of an axis, by itself.
// What a pipeline allows is asked under the base's, or under one that the axis of pipelines may have.
Status check_each(const SweepPlan& plan, const std::function<Status(const Configuration&)>& check) {
  std::vector<GridAxis> none;
  Configuration nothing;
  nothing.passes = plan.base.passes;
  for (const GridAxis& axis : plan.axes) {
    if (axis.key == kPasses) nothing.passes = kO3;
    none.push_back({axis.key, {axis.key == kPasses ? Json(kO3) : Json()}});
  }
  MNEME_ASSIGN(const Grid beside, Grid::create(plan.base, none));
  MNEME_TRY(check(beside.at(0)));
  for (const GridAxis& axis : plan.axes) {
    MNEME_ASSIGN(const Grid alone, Grid::create(nothing, {axis}));
    const Status first = check(alone.at(0));
    bool refused = !first.ok();
    for (uint64_t i = 1; refused && i < alone.size(); ++i) refused = !check(alone.at(i)).ok();
    if (refused) return first.with_context(fmt::format("grid '{}'", axis.key));
  }
  return {};
}

// In what a version wrote in which a configuration without a pipeline had default<O3>.
void name_pipeline(std::vector<GridAxis>& axes) {
  for (GridAxis& axis : axes)
    if (axis.key == kPasses) std::replace(axis.values.begin(), axis.values.end(), Json(), Json(kO3));
}

Result<CodeLevel> parse_code_level(const std::string& text) {
  for (CodeLevel level : {CodeLevel::ir, CodeLevel::ptx, CodeLevel::cubin})
    if (to_string(level) == text) return level;
  return corrupt("'code' is none of ir, ptx and cubin");
}

}  // namespace

Configuration SweepPlan::baseline() const {
  Configuration recorded;
  recorded.passes = recorded_passes;
  recorded.execution = base.execution;
  recorded.tolerance = base.tolerance;
  recorded.verdict = base.verdict;
  return recorded;
}

Json to_json(const SweepPlan& plan) {
  Json instances = Json::array(), grid = Json::array();
  for (const Digest& instance : plan.instances) instances.push_back(instance.hex());
  for (const GridAxis& axis : plan.axes) {
    grid.push_back({{"key", axis.key}, {"values", axis.values}});
    if (!axis.digests.empty()) grid.back()["digests"] = axis.digests;
  }
  Json json = {{"mneme_sweep", kVersion},
               {"database", plan.database.string()},
               {"kernel", plan.kernel},
               {"static_hash", plan.static_hash.hex()},
               {"instances", instances},
               {"device", plan.compile_for.empty() ? to_string(plan.device) : kNoDevice},
               {"configuration", mneme::to_json(plan.base)},
               {"grid", grid},
               {"sampler", plan.random ? kRandom : kExhaustive},
               {"trials", plan.random ? Json(*plan.random) : Json()},
               {"seed", plan.seed},
               {"share", plan.share},
               {"limits", limits_json(plan.limits)}};
  if (!plan.compile_for.empty()) json["compile_for"] = plan.compile_for;
  if (plan.code != CodeLevel::ir) json["code"] = to_string(plan.code);
  if (!plan.as_built.empty()) json["as_built"] = plan.as_built;
  json["recorded_passes"] = plan.recorded_passes;
  if (plan.instances.size() > 1 && !plan.weights.of.empty()) json["weights"] = to_json(plan.weights);
  return json;
}

Result<SweepPlan> sweep_plan_from_json(const Json& json) try {
  if (!json.is_object() || !json.contains("mneme_sweep")) return corrupt("this is none");
  const bool first_version = json["mneme_sweep"] == 1, before_as_built = first_version || json["mneme_sweep"] == 2;
  if (!before_as_built && json["mneme_sweep"] != kVersion)
    return error(Code::incompatible, "the plan of a sweep: its version is {}, and {} is known", json_text(json["mneme_sweep"]),
                 kVersion);
  SweepPlan plan;
  plan.database = json.at("database").get<std::string>();
  plan.kernel = json.value("kernel", "");
  MNEME_ASSIGN(plan.static_hash, Digest::from_hex(json.at("static_hash").get<std::string>()));
  MNEME_ASSIGN(plan.instances, digests(json.at("instances")));
  if (const auto weights = json.find("weights"); weights != json.end()) {
    auto read = weights_from_json(*weights, plan.instances.size());
    if (!read.ok()) return corrupt(read.status().message());
    plan.weights = std::move(*read);
  }
  plan.compile_for = json.value("compile_for", "");
  if (plan.compile_for.empty()) {
    MNEME_ASSIGN(plan.device, parse_device_kind(json.at("device").get<std::string>()));
  } else {
    MNEME_ASSIGN(plan.device, kind_of_architecture(plan.compile_for));
  }
  MNEME_ASSIGN(plan.code, parse_code_level(json.value("code", "ir")));
  plan.as_built = json.value("as_built", "");
  plan.recorded_passes =
      before_as_built ? plan.code == CodeLevel::ir ? kO3 : kAsBuilt : json.at("recorded_passes").get<std::string>();
  MNEME_ASSIGN(plan.base, configuration_from_json(json.at("configuration")));
  for (const Json& axis : json.at("grid"))
    plan.axes.push_back({current_name(axis.at("key").get<std::string>()), axis.at("values").get<std::vector<Json>>(),
                         axis.value("digests", std::vector<std::string>())});
  if (before_as_built) name_pipeline(plan.axes);
  const Json& sampled = json.at(first_version ? "random" : "trials");
  if (!sampled.is_null()) plan.random = sampled.get<uint64_t>();
  plan.seed = json.at("seed").get<uint64_t>();
  plan.share = json.at("share").get<bool>();
  const Json& limits = json.at("limits");
  MNEME_ASSIGN(plan.limits.compiling, limit(limits, "compile_timeout"));
  MNEME_ASSIGN(plan.limits.running, limit(limits, "run_timeout"));
  plan.limits.compile_memory = Bytes(limits.at("compile_memory").get<uint64_t>());
  return plan;
} catch (const Json::exception& failure) {
  return corrupt(failure.what());
}

Status check_knobs(const SweepPlan& plan) {
  return check_each(plan, [&](const Configuration& configuration) { return check_knobs(configuration, plan.device); });
}

Status check_code_level(const SweepPlan& plan, const KernelRecord& kernel) {
  MNEME_TRY(check_device(kernel, plan.device));
  return check_each(plan, [&](const Configuration& configuration) { return check_code_level(configuration, kernel); });
}

Status check_pipelines(const SweepPlan& plan, const KernelRecord& kernel) {
  const auto axis_of = [&](std::string_view key) {
    return std::find_if(plan.axes.begin(), plan.axes.end(), [&](const GridAxis& axis) { return axis.key == key; });
  };
  if (axis_of("pass_plugins") != plan.axes.end()) return {};
  const auto axis = axis_of(kPasses);
  if (axis == plan.axes.end()) {
    if (plan.base.passes == Configuration().passes) return {};
    auto refused = find_refused_pipeline({plan.base.passes}, plan.base.pass_plugins, kernel.target);
    return refused ? refused->why : Status();
  }
  std::vector<std::string> pipelines;
  std::vector<size_t> places;
  for (size_t i = 0; i < axis->values.size(); ++i) {
    if (!axis->values[i].is_string()) continue;  // as by default
    pipelines.push_back(axis->values[i].get<std::string>());
    places.push_back(i + 1);
  }
  auto refused = find_refused_pipeline(pipelines, plan.base.pass_plugins, kernel.target);
  if (!refused) return {};
  return refused->why.with_context(fmt::format("grid 'passes', value {} of {}", places[refused->place], axis->values.size()));
}

Status check_sample(const Grid& grid, const SweepPlan& plan) {
  if (!plan.random || *plan.random >= grid.size() || *plan.random <= kMostRandom) return {};
  return error(Code::invalid_argument,
               "--random {} of the grid's {} points: at most {} are drawn; a smaller grid may be swept whole", *plan.random,
               grid.size(), kMostRandom);
}

SweepPoints::SweepPoints(const Grid& grid, const SweepPlan& plan) : all_(grid.size()) {
  if (plan.random && *plan.random < all_) sample_ = grid.sample(*plan.random, plan.seed);
}

Status begin_folder(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files) {
  if (files.exists(folder.tuning_plan()))
    return error(Code::invalid_argument, "{} has the results of a run of tuning already: name another folder",
                 folder.path.string());
  if (has_results(folder, files))
    return error(Code::invalid_argument,
                 "{} has the results of a sweep already: --resume {} goes on with it; or name another folder",
                 folder.path.string(), folder.path.string());
  return write_plan(folder, plan, files);
}

Result<SweepPlan> read_plan(const ResultsFolder& folder, FileSystem& files) {
  auto bytes = files.read(folder.plan());
  if (bytes.status().code() == Code::not_found)
    return error(Code::not_found, "{} has no sweep.json: give the folder of results of an earlier `mneme sweep`",
                 folder.path.string());
  MNEME_TRY(bytes.status());
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const Json json = json_in(text);
  auto plan = sweep_plan_from_json(json);
  if (!plan.ok()) return plan.status().with_context(folder.plan().string());
  if (auto from_here = json.find(kFromHere); from_here != json.end() && from_here->is_string()) {
    const Path beside = whole(folder.path / from_here->get<std::string>());
    if (!files.exists(kernel_file(*plan, plan->database)) && files.exists(kernel_file(*plan, beside))) plan->database = beside;
  }
  return plan;
}

Status move_plan(const ResultsFolder& folder, SweepPlan& plan, const Path& database, FileSystem& files) {
  plan.database = whole(database);
  return write_plan(folder, plan, files);
}

Status check_inputs(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files) {
  const Path kernel = kernel_file(plan, plan.database);
  if (!files.exists(kernel))
    return error(
        Code::not_found,
        "the recorded kernel of this sweep, {}, is not there any more; if it was moved: mneme sweep --resume {} -rdb DIR/{}",
        kernel.string(), folder.path.string(), kernel.filename().string());
  IrFile ir = plan.base.ir;
  MNEME_TRY(pin(ir, files));
  for (GridAxis axis : plan.axes) MNEME_TRY(pin_files(axis, files));
  return {};
}

}  // namespace mneme
