#include "mneme/cli/configuration_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "mneme/cli/command.h"
#include "mneme/cli/output.h"
#include "mneme/cli/pipeline_file.h"
#include "mneme/cli/values.h"

namespace mneme::cli {
namespace {

// What an option's value is read as, for a member of type T.
template <typename T>
struct ValueOf {
  using Type = T;
};
template <typename T>
struct ValueOf<std::optional<T>> {
  using Type = typename ValueOf<T>::Type;
};
template <>
struct ValueOf<Bytes> {
  using Type = uint64_t;
};

template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
constexpr bool kHasDefault = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;

// Where a text stops being JSON that can be read, and what stands there.
class FailureFinder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string& token, const nlohmann::json::exception&) override {
    byte = at;
    text = token;
    return false;
  }

  std::size_t byte = 0;
  std::string text;
};

std::vector<std::string> chosen_arguments(std::vector<std::string> arguments) {
  std::replace(arguments.begin(), arguments.end(), std::string("all"), std::string("*"));
  return arguments;
}

// "256" or "256,2"
std::optional<LaunchBounds> parse_launch_bounds(const std::string& text) {
  LaunchBounds bounds;
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::optional<uint32_t>* bound : {&bounds.max_threads, &bounds.min_blocks}) {
    uint32_t value = 0;
    auto [next, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || value < 1 || value > 1024) return std::nullopt;
    *bound = value;
    if (next == end) return bounds;
    if (*next != ',') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

// Of the options that are declared here.
bool has_effect(const CLI::Option& option, ConfigurationUse use) {
  constexpr std::array kOfTiming = {"--iterations", "--warm-up",        "--stop",           "--relative-error",
                                    "--max-time",   "--min-iterations", "--max-iterations", "--l2"};
  const std::string& group = option.get_group();
  switch (use) {
    case ConfigurationUse::replay: return true;
    case ConfigurationUse::many_runs:
      if (option.check_name("--no-poison")) return false;
      [[fallthrough]];
    case ConfigurationUse::one_run:
      return std::none_of(kOfTiming.begin(), kOfTiming.end(), [&](const char* name) { return option.check_name(name); });
    case ConfigurationUse::code: return group != OptionGroups::execution && group != OptionGroups::verdict;
  }
  return true;
}

}  // namespace

template <typename Member>
CLI::Option* ConfigurationOptions::knob(CLI::App& app, const char* group, const std::string& name, const std::string& what,
                                        Member member) {
  Configuration usual;
  using T = std::remove_reference_t<decltype(member(usual))>;
  if constexpr (std::is_same_v<T, bool>) {
    auto set = [this, member](int64_t) { changes_.push_back([member](Configuration& c) { return member(c) = true, Status(); }); };
    return app.add_flag_function(name, set, what)->group(group);
  } else {
    using Value = typename ValueOf<T>::Type;
    auto set = [this, member](const Value& value) {
      changes_.push_back([member, value](Configuration& c) { return member(c) = T(value), Status(); });
    };
    CLI::Option* option = app.add_option_function<Value>(name, set, what)->group(group);
    if constexpr (kIsList<T>) option->allow_extra_args(false);
    if constexpr (kHasDefault<T>)
      if (std::string text = fmt::format("{}", member(usual)); !text.empty()) option->default_str(text);
    return option;
  }
}

template <typename T, size_t N, typename Member>
CLI::Option* ConfigurationOptions::choice(CLI::App& app, const char* group, const std::string& name, const std::string& what,
                                          const std::pair<const char*, T> (&names)[N], Member member) {
  std::map<std::string, T> values;
  for (const auto& [text, value] : names) values.emplace(text, value);
  auto set = [this, member, values](const std::string& text) {
    changes_.push_back([member, value = values.at(text)](Configuration& c) { return member(c) = value, Status(); });
  };
  std::vector<std::string> texts;
  for (const auto& [text, value] : names) texts.emplace_back(text);
  return app.add_option_function<std::string>(name, set, what)->check(CLI::IsMember(texts))->group(group);
}

void ConfigurationOptions::declare_extent(CLI::App& app, const std::string& name, const std::string& what,
                                          ExtentOverride Configuration::* extent) {
  auto declare = [&](const char* axis, const std::string& text, std::optional<uint32_t> ExtentOverride::* member) {
    knob(app, OptionGroups::launch, name + "-" + axis, text, [=](Configuration& c) -> std::optional<uint32_t>& {
      return c.*extent.*member;
    })->check(whole_number(1, UINT32_MAX));
  };
  declare("x", what + " in x (default: as recorded)", &ExtentOverride::x);
  declare("y", what + " in y", &ExtentOverride::y);
  declare("z", what + " in z", &ExtentOverride::z);
}

void ConfigurationOptions::declare(CLI::App& app, ConfigurationUse use) {
  declare_file(app);
  declare_launch(app);
  declare_passes(app);
  declare_specialisation(app);
  declare_codegen(app);
  declare_assembler(app);
  declare_execution(app);
  declare_verdict(app);
  for (CLI::Option* option : app.get_options())
    if (!has_effect(*option, use)) option->group(kWithoutEffect);
}

void ConfigurationOptions::declare_file(CLI::App& app) {
  app.add_option("--config", file_, "a configuration as JSON, as replay prints it; other options override it")
      ->group(OptionGroups::configuration);
}

void ConfigurationOptions::declare_launch(CLI::App& app) {
  declare_extent(app, "--grid-dim", "grid extent in blocks", &Configuration::grid);
  declare_extent(app, "--block-dim", "block extent in threads", &Configuration::block);
  knob(app, OptionGroups::launch, "--shared-mem", "dynamic shared memory of a block, in bytes (default: as recorded)",
       [](auto& c) -> auto& { return c.shared_memory; })
      ->check(whole_number(0));
  knob(app, OptionGroups::launch, "--keep-threads", "the grid that leaves as many threads in each direction as were recorded",
       [](auto& c) -> auto& { return c.keep_threads; });
}

void ConfigurationOptions::declare_passes(CLI::App& app) {
  const char* group = OptionGroups::passes;
  auto read = [this](const std::string& path) {
    changes_.push_back([this, path](Configuration& c) -> Status {
      MNEME_ASSIGN(c.passes, read_pipeline(files_, path));
      return {};
    });
  };
  auto take = [this, read](const std::string& text) {
    if (text.starts_with("@")) return read(text.substr(1));
    changes_.push_back([text](Configuration& c) { return c.passes = text, Status(); });
  };
  CLI::Option* pipeline = app.add_option_function<std::string>(
      "PIPELINE", take, "LLVM pass pipeline, as opt's -passes takes it, or @FILE that has it");
  pipeline->default_str(Configuration().passes)->group(group);
  app.add_option_function<std::string>("--passes-file", read, "file with the pipeline; # begins a comment")
      ->group(group)
      ->excludes(pipeline);
  auto absolute = [](std::string& path) { return path = std::filesystem::absolute(path).string(), std::string(); };
  knob(app, group, "--load-pass-plugin", "library with passes of yours, built for this LLVM; may be given several times",
       [](auto& c) -> auto& { return c.pass_plugins; })
      ->transform(CLI::Validator(absolute, "FILE"));
  app.add_option_function<std::string>(
         "--ir",
         [this](const std::string& path) {
           changes_.push_back(
               [path](Configuration& c) { return c.ir = {std::filesystem::absolute(path).string(), ""}, Status(); });
         },
         "bitcode or textual IR that is compiled in place of the recorded one")
      ->group(group);
}

void ConfigurationOptions::declare_specialisation(CLI::App& app) {
  const char* group = OptionGroups::specialisation;
  app.add_option_function<std::vector<std::string>>(
         "--specialise,--specialize",
         [this](const std::vector<std::string>& arguments) {
           changes_.push_back(
               [arguments](Configuration& c) { return c.specialise.arguments = chosen_arguments(arguments), Status(); });
         },
         "kernel arguments that become constants: names or indices, with commas between them, or all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  knob(app, group, "--specialise-dims,--specialize-dims", "blockDim and gridDim become constants",
       [](auto& c) -> auto& { return c.specialise.dimensions; });
  knob(app, group, "--specialise-ranges,--specialize-ranges", "threadIdx, blockIdx and the dimensions get the launch's ranges",
       [](auto& c) -> auto& { return c.specialise.ranges; });
  knob(app, group, "--align", "pointer arguments are as aligned as the recorded ones",
       [](auto& c) -> auto& { return c.specialise.alignment; });
  knob(app, group, "--no-alias", "pointer arguments do not alias, where the recording proves it",
       [](auto& c) -> auto& { return c.specialise.no_alias; });
  declare_launch_bounds(app);
}

void ConfigurationOptions::declare_launch_bounds(CLI::App& app) {
  const char* group = OptionGroups::specialisation;
  app.add_option_function<std::string>(
         "--launch-bounds",
         [this](const std::string& text) {
           changes_.push_back([bounds = *parse_launch_bounds(text)](Configuration& c) {
             c.specialise.bounds.max_threads = bounds.max_threads;
             if (bounds.min_blocks) c.specialise.bounds.min_blocks = bounds.min_blocks;
             return Status();
           });
         },
         "most threads of a block, and how many blocks a multiprocessor is to hold")
      ->check([](const std::string& text) {
        return parse_launch_bounds(text) ? "" : "MAX or MAX,MIN is expected, each from 1 to 1024, not " + text;
      })
      ->type_name("MAX[,MIN]")
      ->group(group);
  knob(app, group, "--max-cluster", "most blocks of a cluster", [](auto& c) -> auto& {
    return c.specialise.bounds.max_cluster;
  })->check(whole_number(1, 1024));
  knob(app, group, "--maxnreg", "most registers of a thread, as the kernel's own bound, which the assembler puts before its own",
       [](auto& c) -> auto& { return c.specialise.bounds.max_registers; })
      ->check(whole_number(1, 255));
}

void ConfigurationOptions::declare_codegen(CLI::App& app) {
  const char* group = OptionGroups::codegen;
  const std::vector<std::string> flags(std::begin(kFastMathFlags), std::end(kFastMathFlags));
  knob(app, group, "--codegen-opt", "level of LLVM's code generator", [](auto& c) -> auto& {
    return c.codegen.level;
  })->check(whole_number(0, 3));
  knob(app, group, "--target", "GPU architecture to make code for, as sm_90a (default: the device's)",
       [](auto& c) -> auto& { return c.codegen.target; });
  knob(app, group, "--mattr", "features of the target, as llc's -mattr takes them: +ptx87",
       [](auto& c) -> auto& { return c.codegen.features; });
  knob(app, group, "--fast-math", "fast-math flags for every floating-point operation, with commas between",
       [](auto& c) -> auto& { return c.codegen.fast_math; })
      ->delimiter(',')
      ->check(CLI::IsMember(flags));
  choice(app, group, "--ftz", "whether denormal 32-bit numbers become zero (default: as recorded)", kFlushDenormals,
         [](auto& c) -> auto& { return c.codegen.ftz; });
  choice(app, group, "--contraction", "where a multiplication and an addition become one operation (default: as recorded)",
         kContractions, [](auto& c) -> auto& { return c.codegen.contraction; });
}

void ConfigurationOptions::declare_assembler(CLI::App& app) {
  const char* group = OptionGroups::assembler;
  knob(app, group, "--assembler-level", "level of the PTX assembler (default: its own)", [](auto& c) -> auto& {
    return c.assembler.level;
  })->check(whole_number(0, 4));
  knob(app, group, "--assembler-option",
       "an option for the PTX assembler, in its own spelling (--assembler-option=-OPTION); repeatable",
       [](auto& c) -> auto& { return c.assembler.options; });
  knob(app, group, "--max-registers", "registers that a thread may have (default: the assembler's choice)", [](auto& c) -> auto& {
    return c.assembler.max_registers;
  })->check(whole_number(1, UINT32_MAX));
  choice(app, group, "--load-cache", "cache operator of loads that say none", kLoadCacheNames,
         [](auto& c) -> auto& { return c.assembler.load_cache; });
  choice(app, group, "--store-cache", "cache operator of stores that say none", kStoreCacheNames,
         [](auto& c) -> auto& { return c.assembler.store_cache; });
}

void ConfigurationOptions::declare_execution(CLI::App& app) {
  const CLI::Validator launches = whole_number(0, 1'000'000), one_or_more = whole_number(1, 1'000'000);
  const char* group = OptionGroups::execution;
  knob(app, group, "--iterations", "timed launches after the verified one, with --stop fixed", [](auto& c) -> auto& {
    return c.execution.iterations;
  })->check(launches);
  knob(app, group, "--warm-up", "launches before the timed ones, each from the restored memory too", [](auto& c) -> auto& {
    return c.execution.warm_up;
  })->check(launches);
  choice(
      app, group, "--stop",
      "when timing ends: after --iterations (fixed), when the mean is known to --relative-error, or after --max-time (default: "
      "fixed)",
      kStopNames, [](auto& c) -> auto& { return c.execution.stop; });
  knob(app, group, "--relative-error", "standard error of the mean, as a part of the mean", [](auto& c) -> auto& {
    return c.execution.relative_error;
  })->check(CLI::Range(1e-6, 1.0));
  knob(app, group, "--max-time", "seconds, restoring included", [](auto& c) -> auto& {
    return c.execution.max_time;
  })->check(CLI::Range(1e-6, 1e6));
  knob(app, group, "--min-iterations", "with --stop relative_error or time", [](auto& c) -> auto& {
    return c.execution.min_iterations;
  })->check(one_or_more);
  knob(app, group, "--max-iterations", "with --stop relative_error or time", [](auto& c) -> auto& {
    return c.execution.max_iterations;
  })->check(one_or_more);
  choice(app, group, "--l2", "what a timed launch finds in the L2 cache (default: as_it_comes)", kCacheNames,
         [](auto& c) -> auto& { return c.execution.l2; });
  knob(app, group, "--shared-device", "do not wait until no other Mneme runs kernels on the GPU",
       [](auto& c) -> auto& { return c.execution.shared_device; });
}

void ConfigurationOptions::declare_verdict(CLI::App& app) {
  auto add = [this](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      changes_.push_back([text](Configuration& c) -> Status {
        MNEME_ASSIGN(BufferTolerance tolerance, parse_buffer_tolerance(text));
        c.tolerance.push_back(std::move(tolerance));
        return {};
      });
  };
  app.add_option_function<std::vector<std::string>>(
         "--tolerance", add,
         "how far a buffer may be from what was recorded, as 'BUFFER: TYPE, THRESHOLD, absolute|relative|ulp[, L1|L2|Linf][, "
         "nan=recorded|any|none]'; a buffer is an argument by name or number, a global, a tag, or 0xADDRESS+SIZE. May be "
         "repeated; "
         "the rest must be equal to the byte")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("TEXT")
      ->group(OptionGroups::verdict);
  auto leave_out = [this](int64_t) { changes_.push_back([](Configuration& c) { return c.verdict.poison = false, Status(); }); };
  app.add_flag_function("--no-poison", leave_out,
                        "leave memory as recorded before the run that is verified: by default bytes that the kernel only writes "
                        "are made wrong first")
      ->group(OptionGroups::verdict);
}

Result<Configuration> ConfigurationOptions::configuration() const {
  Configuration configuration;
  if (!file_.empty()) {
    auto bytes = files_.read(file_);
    if (!bytes.ok()) return bytes.status().with_context("reading the configuration");
    MNEME_ASSIGN(configuration, parse_configuration({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, file_));
  }
  for (const Change& change : changes_) MNEME_TRY(change(configuration));
  MNEME_TRY(check_texts(to_json(configuration), "the configuration"));
  MNEME_TRY(pin(configuration.ir, files_));
  return configuration;
}

Result<Configuration> parse_configuration(std::string_view text, const std::string& name) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& failure) {
    return error(Code::invalid_argument, "the configuration {} is no JSON: byte {}", name, failure.byte);
  } catch (const nlohmann::json::out_of_range&) {
    FailureFinder found;
    [[maybe_unused]] const bool read = nlohmann::json::sax_parse(text, &found);
    return error(Code::invalid_argument, "the configuration {}: the number {} at byte {} is larger than any that can be read",
                 name, found.text, found.byte - found.text.size() + 1);
  }
  if (json.is_object() && json.contains("configuration")) json = nlohmann::json(json["configuration"]);
  auto configuration = configuration_from_json(json);
  if (!configuration.ok()) return configuration.status().with_context(name);
  return configuration;
}

}  // namespace mneme::cli
