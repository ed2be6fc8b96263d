#include "mneme/replay/knobs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "mneme/replay/json_member.h"
#include "mneme/replay/json_text.h"
#include "mneme/replay/pipeline_file.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {
namespace {

using Json = nlohmann::json;
using Form = Knob::Form;
using Kind = ConfigurationField::Kind;

constexpr char kLaunch[] = "Launch", kPasses[] = "Passes", kSpecialisation[] = "Specialisation", kCodegen[] = "Code generation",
               kAssembler[] = "Assembler", kExecution[] = "Execution", kVerdict[] = "Verdict", kConfiguration[] = "Configuration";
constexpr uint64_t kMostBound = 1024;

std::vector<Knob> listed() {
  return {
      {{"--set"},
       "",
       kConfiguration,
       "a member of the configuration by its path in the JSON that replay prints, as block.x=64 or passes=default<O1>; null: as "
       "by default; repeatable. The options below are such members too",
       Form::setting},
      {{"--grid-dim-x"}, "grid.x", kLaunch, "grid extent in blocks in x (default: as recorded)"},
      {{"--grid-dim-y"}, "grid.y", kLaunch, "grid extent in blocks in y"},
      {{"--grid-dim-z"}, "grid.z", kLaunch, "grid extent in blocks in z"},
      {{"--block-dim-x"}, "block.x", kLaunch, "block extent in threads in x (default: as recorded)"},
      {{"--block-dim-y"}, "block.y", kLaunch, "block extent in threads in y"},
      {{"--block-dim-z"}, "block.z", kLaunch, "block extent in threads in z"},
      {{"--shared-mem"}, "shared_memory", kLaunch, "dynamic shared memory of a block, in bytes (default: as recorded)"},
      {{"--keep-threads"},
       "keep_threads",
       kLaunch,
       "the grid that leaves as many threads in each direction as were recorded",
       Form::flag},
      {{"--passes"}, "passes", kPasses, "LLVM pass pipeline, as opt's -passes takes it, or @FILE that has it", Form::pipeline},
      {{"--passes-file"}, "passes", kPasses, "file with the pipeline; # begins a comment", Form::pipeline_file},
      {{"--linkage"},
       "linkage",
       kPasses,
       "internal: the pipeline takes device functions and constants for used by this kernel alone, and inlines what has one "
       "caller (default: as the program's compiler could)"},
      {{"--load-pass-plugin"},
       "pass_plugins",
       kPasses,
       "library with passes of yours, built for this LLVM; may be given several times",
       Form::paths},
      {{"--ir"}, "ir", kPasses, "bitcode or textual IR that is compiled in place of the recorded one", Form::path},
      {{"--specialise", "--specialize"},
       "specialise.arguments",
       kSpecialisation,
       "kernel arguments that become constants: names or indices, with commas between them, or all",
       Form::arguments},
      {{"--specialise-dims", "--specialize-dims"},
       "specialise.dimensions",
       kSpecialisation,
       "blockDim and gridDim become constants",
       Form::flag},
      {{"--specialise-ranges", "--specialize-ranges"},
       "specialise.ranges",
       kSpecialisation,
       "threadIdx, blockIdx and the dimensions get the launch's ranges",
       Form::flag},
      {{"--align"}, "specialise.alignment", kSpecialisation, "pointer arguments are as aligned as the recorded ones", Form::flag},
      {{"--no-alias"},
       "specialise.no_alias",
       kSpecialisation,
       "pointer arguments do not alias, where the recording proves it",
       Form::flag},
      {{"--launch-bounds"},
       "specialise.max_threads",
       kSpecialisation,
       "most threads of a block, and how many blocks a multiprocessor is to hold",
       Form::bounds},
      {{"--max-cluster"}, "specialise.max_cluster", kSpecialisation, "most blocks of a cluster"},
      {{"--maxnreg"},
       "specialise.max_registers",
       kSpecialisation,
       "most registers of a thread, as the kernel's own bound, which the assembler puts before its own"},
      {{"--waves-per-eu"},
       "specialise.waves_per_eu",
       kSpecialisation,
       "wavefronts that a SIMD of an AMD GPU is to hold at least"},
      {{"--codegen-opt"}, "codegen.level", kCodegen, "level of LLVM's code generator"},
      {{"--target"},
       "codegen.target",
       kCodegen,
       "GPU architecture to make code for, as sm_90a or gfx90a:xnack+ (default: the device's)"},
      {{"--mattr"}, "codegen.features", kCodegen, "features of the target, as llc's -mattr takes them: +ptx87"},
      {{"--fast-math"},
       "codegen.fast_math",
       kCodegen,
       "fast-math flags for every floating-point operation, with commas between",
       Form::words},
      {{"--ftz"}, "codegen.ftz", kCodegen, "whether denormal 32-bit numbers become zero (default: as recorded)"},
      {{"--contraction"},
       "codegen.contraction",
       kCodegen,
       "where a multiplication and an addition become one operation (default: as recorded)"},
      {{"--code-object"},
       "codegen.code_object",
       kCodegen,
       "version of code objects for AMD GPUs, 5 or 6 (default: the recorded one)"},
      {{"--assembler-level"}, "assembler.level", kAssembler, "level of the PTX assembler (default: its own)"},
      {{"--assembler-option"},
       "assembler.options",
       kAssembler,
       "an option for the PTX assembler, in its own spelling (--assembler-option=-OPTION); repeatable",
       Form::list},
      {{"--max-registers"},
       "assembler.max_registers",
       kAssembler,
       "registers that a thread may have (default: the assembler's choice)"},
      {{"--load-cache"}, "assembler.load_cache", kAssembler, "cache operator of loads that say none"},
      {{"--store-cache"}, "assembler.store_cache", kAssembler, "cache operator of stores that say none"},
      {{"--iterations"}, "execution.iterations", kExecution, "timed launches after the verified one, with --stop fixed"},
      {{"--warm-up"}, "execution.warm_up", kExecution, "launches before the timed ones, each from the restored memory too"},
      {{"--stop"},
       "execution.stop",
       kExecution,
       "when timing ends: after --iterations (fixed), when the mean is known to --relative-error, or after --max-time (default: "
       "fixed)"},
      {{"--relative-error"}, "execution.relative_error", kExecution, "standard error of the mean, as a part of the mean"},
      {{"--max-time"}, "execution.max_time", kExecution, "seconds, restoring included"},
      {{"--min-iterations"}, "execution.min_iterations", kExecution, "with --stop relative_error or time"},
      {{"--max-iterations"}, "execution.max_iterations", kExecution, "with --stop relative_error or time"},
      {{"--l2"}, "execution.l2", kExecution, "what a timed launch finds in the L2 cache (default: as_it_comes)"},
      {{"--shared-device"},
       "execution.shared_device",
       kExecution,
       "do not wait until no other Mneme runs kernels on the GPU",
       Form::flag},
      {{"--tolerance"},
       "tolerance",
       kVerdict,
       "how far a buffer may be from what was recorded, as 'BUFFER: TYPE, THRESHOLD, absolute|relative|ulp[, L1|L2|Linf][, "
       "nan=recorded|any|none]'; a buffer is an argument by name or number, a global, a tag, or 0xADDRESS+SIZE. May be repeated; "
       "the rest must be equal to the byte",
       Form::tolerances},
      {{"--no-mask"},
       "verdict.mask",
       kVerdict,
       "leave memory as recorded before the runs: by default bytes that the kernel only writes are made wrong "
       "first",
       Form::off,
       {"--no-poison"}},
  };
}

// What is none of the field's kind is refused here, so that it is said alike whatever the configuration around it is.
Result<Json> value_of(const ConfigurationField& field, const std::string& text) {
  const char* const end = text.data() + text.size();
  if (field.kind == Kind::number) {
    uint64_t number = 0;
    auto [next, failure] = std::from_chars(text.data(), end, number);
    if (failure == std::errc() && next == end && number >= field.min && number <= field.max) return Json(number);
    return error(Code::invalid_argument, "'{}' is not a whole number from {} to {}", text, field.min, field.max);
  }
  if (field.kind == Kind::real) {
    double number = 0;
    auto [next, failure] = std::from_chars(text.data(), end, number);
    if (failure == std::errc() && next == end && number >= field.least && number <= field.most) return Json(number);
    return error(Code::invalid_argument, "'{}' is not a number from {} to {}", text, field.least, field.most);
  }
  const std::vector<std::string>& choices = field.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return Json(text);
  return error(Code::invalid_argument, "'{}' is none of {}", text, fmt::join(choices, ", "));
}

Result<Json> words_of(const KnobChange& change) {
  const Form form = change.knob->form;
  Json words = Json::array();
  for (const std::string& text : change.texts) {
    for (size_t begin = 0;;) {
      const size_t comma = form == Form::list || form == Form::paths ? std::string::npos : text.find(',', begin);
      MNEME_ASSIGN(Json word, value_of(change.knob->field, text.substr(begin, comma - begin)));
      if (form == Form::paths) word = std::filesystem::absolute(word.get<std::string>()).string();
      words.push_back(form == Form::arguments && word == "all" ? Json("*") : word);
      if (comma == std::string::npos) break;
      begin = comma + 1;
    }
  }
  return words;
}

// "256" or "256,2"
Status set_bounds(Json& json, const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const char* member : {"specialise.max_threads", "specialise.min_blocks"}) {
    uint32_t bound = 0;
    auto [next, failure] = std::from_chars(at, end, bound);
    if (failure != std::errc() || bound < 1 || bound > kMostBound) break;
    set_member(json, member, bound);
    if (next == end) return {};
    if (*next != ',') break;
    at = next + 1;
  }
  return error(Code::invalid_argument, "MAX or MAX,MIN is expected, each from 1 to {}, not {}", kMostBound, text);
}

Status set_one(Json& json, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return error(Code::invalid_argument, "--set {}: KEY=VALUE is expected, as in --set block.x=64", text);
  const std::string key = current_name(text.substr(0, equals)), value = text.substr(equals + 1);
  const auto& fields = configuration_fields();
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const ConfigurationField& f) { return f.key == key; });
  const bool is_text = field != fields.end() && (field->kind == Kind::text || field->kind == Kind::choice);
  Json read = json_value(value);
  if (is_text && !read.is_string() && !read.is_null()) read = value;
  if ((key == "grid" || key == "block") && read.is_number()) read = {{"x", read}};
  if (key == "ir") {
    set_member(json, "ir_digest", {});
    if (read.is_string()) read = std::filesystem::absolute(read.get<std::string>()).string();
  }
  if (!set_member(json, key, read))
    return error(Code::invalid_argument, "--set {}: there is no such member of a configuration", text);
  // What takes a member out reads as any configuration, also where there is no such member.
  const bool known = std::any_of(fields.begin(), fields.end(),
                                 [&](const ConfigurationField& f) { return f.key == key || f.key.starts_with(key + "."); });
  if (read.is_null() && !known) set_member(json, key, Json::array());
  return {};
}

enum class Files { read, left };

Status apply(const KnobChange& change, Files how, FileSystem& files, Json& json) {
  const Knob& knob = *change.knob;
  const std::string text = change.texts.empty() ? "" : change.texts.back();
  const bool is_file = knob.form == Form::pipeline_file || (knob.form == Form::pipeline && text.starts_with("@"));
  if (is_file) {
    if (how == Files::left) return {};
    MNEME_ASSIGN(json["passes"], read_pipeline(files, knob.form == Form::pipeline ? text.substr(1) : text));
    return {};
  }
  switch (knob.form) {
    case Form::flag: set_member(json, knob.key, true); return {};
    case Form::off: set_member(json, knob.key, false); return {};
    case Form::list:
    case Form::words:
    case Form::arguments:
    case Form::paths: {
      MNEME_ASSIGN(const Json words, words_of(change));
      set_member(json, knob.key, words);
      return {};
    }
    case Form::bounds: return set_bounds(json, text);
    case Form::tolerances:
      for (const std::string& one : change.texts) {
        Configuration tolerant;
        MNEME_ASSIGN(BufferTolerance tolerance, parse_buffer_tolerance(one));
        tolerant.tolerance.push_back(std::move(tolerance));
        json["tolerance"].push_back(to_json(tolerant)["tolerance"][0]);
      }
      return {};
    case Form::setting:
      for (const std::string& one : change.texts) MNEME_TRY(set_one(json, one));
      return {};
    case Form::path: return set_one(json, knob.key + "=" + text);
    default: {
      MNEME_ASSIGN(const Json value, value_of(knob.field, text));
      set_member(json, knob.key, value);
      return {};
    }
  }
}

}  // namespace

std::string Knob::value_name() const {
  switch (form) {
    case Form::flag:
    case Form::off: return "";
    case Form::path:
    case Form::paths:
    case Form::pipeline_file: return "FILE";
    case Form::pipeline: return "PIPELINE";
    case Form::bounds: return "MAX[,MIN]";
    case Form::setting: return "KEY=VALUE";
    case Form::value: break;
    default: return "TEXT";
  }
  if (field.kind == Kind::choice) return fmt::format("{}", fmt::join(field.choices, "|"));
  return field.kind == Kind::text ? "TEXT" : "N";
}

bool Knob::repeats() const {
  return form == Form::list || form == Form::words || form == Form::arguments || form == Form::paths ||
         form == Form::tolerances || form == Form::setting;
}

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all = [] {
    std::vector<Knob> made = listed();
    for (Knob& knob : made) {
      for (const ConfigurationField& field : configuration_fields())
        if (field.key == knob.key) knob.field = field;
      // An extent of 0 can be written into a configuration, and launches nothing: nobody means it.
      if (knob.group == kLaunch && knob.key.find('.') != std::string::npos) knob.field.min = 1;
      if (knob.key == "codegen.fast_math") knob.field.choices.assign(std::begin(kFastMathFlags), std::end(kFastMathFlags));
    }
    return made;
  }();
  return all;
}

const Knob* find_knob(std::string_view name) {
  for (const Knob& knob : knobs())
    for (const auto* names : {&knob.names, &knob.former_names})
      if (std::find(names->begin(), names->end(), name) != names->end()) return &knob;
  return nullptr;
}

Status check_change(const KnobChange& change) {
  Json json = Json::object();
  MNEME_TRY(apply(change, Files::left, FileSystem::posix(), json));
  if (!check_texts(json, "").ok()) return {};  // said of the whole configuration
  return configuration_from_json(json).status();
}

Result<Configuration> changed(const Configuration& configuration, const std::vector<KnobChange>& changes, FileSystem& files) {
  Json json = to_json(configuration);
  for (const KnobChange& change : changes) MNEME_TRY(apply(change, Files::read, files, json));
  MNEME_TRY(check_texts(json, "the configuration"));
  MNEME_ASSIGN(Configuration result, configuration_from_json(json));
  MNEME_TRY(pin(result.ir, files));
  return result;
}

}  // namespace mneme
