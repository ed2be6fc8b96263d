#include "mneme/deploy/explain.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mneme/deploy/deploy.h"
#include "mneme/deploy/in_turn.h"
#include "mneme/deploy/promise.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

// Collects what a configuration changes.
class Ingredients {
 public:
  explicit Ingredients(const Configuration& whole) : whole_(whole) {}

  template <class Take>
  void add(bool is_there, std::string key, std::string in_source, const Take& take_back) {
    if (!is_there) return;
    Ingredient& one = all_.emplace_back(Ingredient{std::move(key), std::move(in_source), whole_});
    take_back(one.without);
  }
  std::vector<Ingredient> take() { return std::move(all_); }

 private:
  const Configuration& whole_;
  std::vector<Ingredient> all_;
};

template <class T>
std::string joined(const T& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

uint64_t threads_of(const Dim3& block) { return uint64_t{block.x} * block.y * block.z; }

// What stands at a kernel whose largest block has so many threads. HIP's second number is of wavefronts, CUDA's of blocks.
std::string bounds_in_source(const LaunchBounds& bounds, uint64_t threads, bool is_amds) {
  std::string attribute = fmt::format("__launch_bounds__({}", threads);
  if (const auto least = is_amds ? bounds.waves_per_eu : bounds.min_blocks) attribute += fmt::format(", {}", *least);
  attribute += ")";
  if (!bounds.max_registers) return attribute;
  if (!is_amds) return fmt::format("__maxnreg__({})", *bounds.max_registers);
  const std::string registers = fmt::format("__attribute__((amdgpu_num_vgpr({})))", *bounds.max_registers);
  return bounds.max_threads || bounds.waves_per_eu ? attribute + " " + registers : registers;
}

void add_launch(Ingredients& all, const Configuration& c, const KernelRecord& kernel, const InstanceRecord& instance) {
  const auto shape = c.launch_shape(instance);
  const Configuration plain;
  const bool changes = c.block != plain.block || c.grid != plain.grid || c.keep_threads || c.shared_memory;
  const std::string in_source = !shape.ok() ? shape.status().message()
                                            : fmt::format("<<<{}, {}, {}>>> where {}, {}, {} was recorded", shape->grid,
                                                          shape->block, shape->dynamic_shared_memory.count, instance.grid,
                                                          instance.block, instance.dynamic_shared_memory.count);
  all.add(changes, "block", in_source, [&](Configuration& without) {
    without.block = plain.block;
    without.grid = plain.grid;
    without.keep_threads = false;
    without.shared_memory.reset();
    // Bounds that the recorded block exceeds go with it.
    if (auto& most = without.specialise.bounds.max_threads; most && *most < threads_of(instance.block))
      without.specialise.bounds = {};
  });
  const LaunchBounds& bounds = c.specialise.bounds;
  const uint64_t threads = bounds.max_threads.value_or(threads_of(shape.ok() ? shape->block : instance.block));
  all.add(bounds != LaunchBounds(), "specialise.bounds",
          bounds_in_source(bounds, threads, kernel.target == "amdgcn") + " at the kernel",
          [](Configuration& without) { without.specialise.bounds = {}; });
}

std::string name_of(const KernelRecord& kernel, size_t index) {
  const std::string& name = kernel.parameters[index].name;
  return name.empty() ? fmt::format("{}", index) : name;
}

void add_facts(Ingredients& all, const Configuration& c, const KernelRecord& kernel, const std::vector<std::string>& no_alias) {
  const SpecialiseOptions& s = c.specialise;
  std::vector<std::string> constants = s.arguments;
  if (std::find(constants.begin(), constants.end(), "*") != constants.end()) {
    constants.clear();
    for (size_t i = 0; i < kernel.parameters.size(); ++i) constants.push_back(name_of(kernel, i));
  }
  for (const std::string& constant : constants)
    all.add(true, "specialise.arguments", fmt::format("{}: a template parameter, or a branch to code with its value", constant),
            [&](Configuration& without) {
              without.specialise.arguments = constants;
              std::erase(without.specialise.arguments, constant);
            });
  all.add(s.dimensions, "specialise.dimensions", "a constexpr in place of blockDim and gridDim, or __builtin_assume()",
          [](Configuration& without) { without.specialise.dimensions = false; });
  all.add(s.ranges, "specialise.ranges", "__builtin_assume() of the launch's dimensions",
          [](Configuration& without) { without.specialise.ranges = false; });
  all.add(s.alignment, "specialise.alignment", "__builtin_assume_aligned() of the pointers",
          [](Configuration& without) { without.specialise.alignment = false; });
  all.add(s.no_alias, "specialise.no_alias",
          no_alias.empty() ? "__restrict__: nothing was proven" : fmt::format("__restrict__ for {}", joined(no_alias)),
          [](Configuration& without) { without.specialise.no_alias = false; });
}

template <class Names, class Value>
std::string word_of(const Names& names, Value value) {
  for (const auto& [word, each] : names)
    if (each == value) return word;
  return "";
}

void add_flags(Ingredients& all, const Configuration& c) {
  const Configuration plain;
  all.add(c.passes != plain.passes || !c.pass_plugins.empty(), "passes",
          fmt::format("opt -passes='{}' of the device code{}", c.passes, c.pass_plugins.empty() ? "" : ", with its plugins"),
          [&](Configuration& without) { without.passes = plain.passes, without.pass_plugins.clear(); });
  all.add(c.linkage != plain.linkage, "linkage", "static or extern functions and constants",
          [&](Configuration& without) { without.linkage = plain.linkage; });
  all.add(c.ir != plain.ir, "ir", fmt::format("what {} changes", c.ir.path), [](Configuration& without) { without.ir = {}; });
  const CodegenOptions& g = c.codegen;
  all.add(g.level != plain.codegen.level, "codegen.level", fmt::format("llc -O{}, or clang -Xarch_device -O{}", g.level, g.level),
          [&](Configuration& without) { without.codegen.level = plain.codegen.level; });
  all.add(g.target != plain.codegen.target || g.features != plain.codegen.features, "codegen.target",
          fmt::format("llc -mcpu={} -mattr={}", g.target, g.features),
          [&](Configuration& without) { without.codegen.target.clear(), without.codegen.features.clear(); });
  all.add(!g.fast_math.empty(), "codegen.fast_math", fmt::format("-ffast-math, of it: {}", joined(g.fast_math)),
          [](Configuration& without) { without.codegen.fast_math.clear(); });
  all.add(g.ftz != plain.codegen.ftz, "codegen.ftz", "clang -fgpu-flush-denormals-to-zero, nvcc --ftz",
          [&](Configuration& without) { without.codegen.ftz = plain.codegen.ftz; });
  all.add(g.contraction != plain.codegen.contraction, "codegen.contraction",
          fmt::format("-ffp-contract={}", word_of(kContractions, g.contraction)),
          [&](Configuration& without) { without.codegen.contraction = plain.codegen.contraction; });
  all.add(g.code_object.has_value(), "codegen.code_object",
          fmt::format("clang -mcode-object-version={}", g.code_object.value_or(0)),
          [](Configuration& without) { without.codegen.code_object.reset(); });
  const AssemblerOptions& a = c.assembler;
  all.add(a.level.has_value(), "assembler.level", fmt::format("ptxas -O{}", a.level.value_or(0)),
          [](Configuration& without) { without.assembler.level.reset(); });
  all.add(a.max_registers.has_value(), "assembler.max_registers",
          fmt::format("ptxas --maxrregcount={}", a.max_registers.value_or(0)),
          [](Configuration& without) { without.assembler.max_registers.reset(); });
  all.add(a.load_cache != LoadCache::unset, "assembler.load_cache",
          fmt::format("ptxas -dlcm={}", word_of(kLoadCacheNames, a.load_cache)),
          [](Configuration& without) { without.assembler.load_cache = LoadCache::unset; });
  all.add(a.store_cache != StoreCache::unset, "assembler.store_cache",
          fmt::format("ptxas -dscm={}", word_of(kStoreCacheNames, a.store_cache)),
          [](Configuration& without) { without.assembler.store_cache = StoreCache::unset; });
  all.add(!a.options.empty(), "assembler.options", fmt::format("ptxas {}", fmt::join(a.options, " ")),
          [](Configuration& without) { without.assembler.options.clear(); });
}

// What is measured in turn: a configuration with its code, and its times.
struct Measured {
  Configuration configuration;
  CompiledCode code;
  std::vector<double> times;
  Status failure;
};

class InstanceExplanation {
 public:
  InstanceExplanation(const FoundConfiguration& found, Session& session) : found_(found), session_(session) {}

  Status run(Explanation& told) {
    const ReplayResult whole = session_.replay(found_.configuration);
    MNEME_TRY(median_of(whole).status());
    const std::vector<Ingredient> ingredients =
        ingredients_of(found_.configuration, session_.kernel(), session_.instance(),
                       whole.specialised ? whole.specialised->no_alias : std::vector<std::string>());
    add(baseline_of(found_.configuration));
    add(found_.configuration);
    for (const Ingredient& one : ingredients) add(one.without);
    for (unsigned round = 0; round < kRoundsInTurn; ++round) MNEME_TRY(measure_round(round));
    MNEME_TRY(measured_[0].failure);
    MNEME_TRY(measured_[1].failure);
    told.speed_up = speed_up_of(measured_[0].times, measured_[1].times);
    for (size_t i = 0; i < ingredients.size(); ++i) told.ingredients.push_back(explained(ingredients[i], i + 2, told.speed_up));
    std::stable_sort(told.ingredients.begin(), told.ingredients.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.failure.ok(), -a.speed_up.value) < std::pair(!b.failure.ok(), -b.speed_up.value);
    });
    return {};
  }

 private:
  // Compiled before, so that nothing but the launches tells them apart.
  void add(const Configuration& configuration) {
    Measured& one = measured_.emplace_back(Measured{configuration, {}, {}, {}});
    auto code = session_.compile_ahead(configuration);
    if (code.ok())
      one.code = std::move(*code);
    else
      one.failure = code.status();
  }

  // Every other round goes backwards.
  Status measure_round(unsigned round) {
    for (size_t i = 0; i < measured_.size(); ++i) {
      Measured& one = measured_[round % 2 == 0 ? i : measured_.size() - 1 - i];
      if (!one.failure.ok()) continue;
      const auto time = median_of(session_.measure(one.configuration, one.code));
      if (time.ok())
        one.times.push_back(*time);
      else
        one.failure = time.status();
      if (one.failure.code() == Code::device_fault) return one.failure;
    }
    return {};
  }

  ExplainedIngredient explained(const Ingredient& one, size_t index, const SpeedUp& whole) const {
    const Measured& without = measured_[index];
    ExplainedIngredient told{one.key, one.in_source, without.failure, {}, {}};
    if (!told.failure.ok()) return told;
    told.speed_up = speed_up_of(without.times, measured_[1].times);
    if (whole.low > 1) told.share = std::log(told.speed_up.value) / std::log(whole.value);
    return told;
  }

  const FoundConfiguration& found_;
  Session& session_;
  std::vector<Measured> measured_;  // the baseline, the whole configuration, and what is left without each ingredient
};

std::string text_of(const SpeedUp& speed_up) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f}, 95 %)", speed_up.value, speed_up.low, speed_up.high);
}

nlohmann::json to_json(const SpeedUp& speed_up) {
  return {{"value", speed_up.value}, {"interval", {speed_up.low, speed_up.high}}};
}

}  // namespace

std::vector<Ingredient> ingredients_of(const Configuration& configuration, const KernelRecord& kernel,
                                       const InstanceRecord& instance, const std::vector<std::string>& no_alias) {
  Ingredients all(configuration);
  add_launch(all, configuration, kernel, instance);
  add_facts(all, configuration, kernel, no_alias);
  add_flags(all, configuration);
  return all.take();
}

Result<std::vector<Explanation>> explain(const FoundConfiguration& found, Device& device,
                                         const std::function<void(const std::string&)>& progress) {
  MNEME_ASSIGN(const Database database, Database::open(found.database));
  MNEME_ASSIGN(const KernelRecord kernel, database.load_kernel(found.static_hash));
  std::vector<Explanation> all;
  for (const Digest& instance : found.instances) {
    Explanation& one =
        all.emplace_back(Explanation{found.folder, kernel.demangled, instance, device.properties().name, {}, {}, {}});
    if (progress) progress(fmt::format("taking back what was found of {}", kernel.demangled));
    auto session = Session::prepare(database, found.static_hash, instance, device);
    one.failure = session.ok() ? InstanceExplanation(found, **session).run(one) : session.status();
    if (one.failure.code() == Code::device_fault) return one.failure.with_context(found.folder.string());
  }
  return all;
}

std::string describe(const Explanation& explanation) {
  const std::string title = fmt::format("{}, {}", explanation.kernel, explanation.instance.hex());
  if (!explanation.failure.ok()) return fmt::format("{}: cannot be explained: {}\n", title, explanation.failure.message());
  std::string text = fmt::format("{}: {}, all of it together\n", title, text_of(explanation.speed_up));
  if (explanation.ingredients.empty()) text += "  the configuration is that of the launch as recorded\n";
  for (const ExplainedIngredient& one : explanation.ingredients) {
    text += fmt::format("  {}: {}\n", one.key, one.in_source);
    if (!one.failure.ok()) {
      text += fmt::format("    not measured without it: {}\n", one.failure.message());
      continue;
    }
    const std::string_view verdict = one.speed_up.low > 1    ? ""
                                     : one.speed_up.high < 1 ? ": slower with it, leave it out"
                                                             : ": nothing shown, leave it out";
    text += fmt::format("    {}, beside what is left without it{}{}\n", text_of(one.speed_up),
                        one.share ? fmt::format(", {:.0f} % of the gain", 100 * *one.share) : "", verdict);
  }
  return text;
}

nlohmann::json to_json(const std::vector<Explanation>& explanations, const Configuration& configuration) {
  nlohmann::json all = nlohmann::json::array();
  for (const Explanation& one : explanations) {
    nlohmann::json ingredients = nlohmann::json::array();
    for (const ExplainedIngredient& part : one.ingredients)
      ingredients.push_back({{"key", part.key},
                             {"in_source", part.in_source},
                             {"verified", part.failure.ok()},
                             {"failure", part.failure.ok() ? nlohmann::json() : nlohmann::json(part.failure.message())},
                             {"speed_up", part.failure.ok() ? to_json(part.speed_up) : nlohmann::json()},
                             {"share", part.share ? nlohmann::json(*part.share) : nlohmann::json()}});
    all.push_back({{"kernel", one.kernel},
                   {"instance", one.instance.hex()},
                   {"device", one.device},
                   {"failure", one.failure.ok() ? nlohmann::json() : nlohmann::json(one.failure.message())},
                   {"speed_up", one.failure.ok() ? to_json(one.speed_up) : nlohmann::json()},
                   {"ingredients", ingredients}});
  }
  return {{"mneme_explained", 1}, {"configuration", to_json(configuration)}, {"instances", all}};
}

}  // namespace mneme
