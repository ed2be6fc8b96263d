#include "mneme/compile/nvptx/program_code.h"

#include <array>
#include <charconv>

#include "mneme/base/ptx_words.h"
#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/cubin_facts.h"

namespace mneme::nvptx {
namespace {

constexpr unsigned kJitCacheGlobal = 1, kJitCacheAll = 2;  // CUjit_cacheMode

std::optional<uint32_t> number(std::string_view word) {
  uint32_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failure == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

// Where the kernel's name ends behind ".entry".
std::optional<size_t> find_entry(std::string_view ptx, std::string_view kernel) {
  PtxWords words(ptx);
  for (std::string_view word = words.next(); !word.empty(); word = words.next())
    if (word == ".entry" && words.next() == kernel) return words.end();
  return std::nullopt;
}

std::string word_behind(std::string_view ptx, std::string_view directive) {
  PtxWords words(ptx);
  for (std::string_view word = words.next(); !word.empty(); word = words.next())
    if (word == directive) return std::string(words.next());
  return {};
}

}  // namespace

std::optional<EntryDirectives> find_directives(std::string_view ptx, std::string_view kernel) {
  const auto entry = find_entry(ptx, kernel);
  if (!entry) return std::nullopt;
  EntryDirectives directives;
  directives.begin = directives.end = *entry;
  PtxWords words(ptx, *entry);
  std::string_view word = words.next();
  if (word == "(") {
    for (int depth = 1; depth != 0 && !word.empty();) {
      word = words.next();
      depth += (word == "(") - (word == ")");
    }
    directives.begin = directives.end = words.end();
    word = words.next();
  }
  std::array<uint32_t, 3> extents{};
  size_t extent = extents.size();
  for (; !word.empty() && word != "{" && word != ";"; word = words.next()) {
    directives.bounded = true;
    directives.end = words.end();
    if (word == ".reqntid") {
      extents = {1, 1, 1};
      extent = 0;
    } else if (word.front() == '.') {
      extent = extents.size();
    } else if (const auto value = number(word); value && extent < extents.size()) {
      extents[extent++] = *value;
      directives.required_block = Dim3{extents[0], extents[1], extents[2]};
    }
  }
  if (word != "{") return std::nullopt;  // a declaration, or the text ends
  return directives;
}

std::string with_register_cap(std::string_view ptx, const EntryDirectives& directives, unsigned registers) {
  const std::string cap = fmt::format(".maxnreg {}", registers);
  PtxWords words(ptx, directives.begin);
  std::string_view word = words.next();
  while (words.begin() < directives.end && word != ".maxnreg") word = words.next();
  std::string text(ptx.substr(0, directives.end));
  if (words.begin() < directives.end) {
    const size_t begin = words.begin();
    words.next();
    text = fmt::format("{}{}{}", ptx.substr(0, begin), cap, ptx.substr(words.end(), directives.end - words.end()));
  } else {
    text += "\n" + cap;
  }
  return text + std::string(ptx.substr(directives.end));
}

// What the driver was asked for, in the assembler's words, behind which stands what is asked for now. The driver's other options
// (the least block, the target) have none. A cap on registers is ignored where a kernel has bounds, by the driver too.
AssemblerOptions with_options_of(const DriverOptions& program, AssemblerOptions assembler) {
  const auto value = [&](const char* name) {
    const auto found = program.find(name);
    return found == program.end() ? 0 : number(found->second).value_or(0);
  };
  std::vector<std::string> options;
  if (value("generate_debug_info") != 0 && assembler.level.value_or(0) == 0) {  // for code that is not optimised alone
    assembler.level = 0;
    options.emplace_back("-g");
  }
  if (!assembler.level && program.contains("optimization_level")) assembler.level = std::min(value("optimization_level"), 4u);
  if (!assembler.max_registers && value("max_registers") != 0) assembler.max_registers = value("max_registers");
  if (assembler.load_cache == LoadCache::unset && value("cache_mode") == kJitCacheGlobal) assembler.load_cache = LoadCache::cg;
  if (assembler.load_cache == LoadCache::unset && value("cache_mode") == kJitCacheAll) assembler.load_cache = LoadCache::ca;
  if (const unsigned threads = value("max_threads_per_block")) options.push_back(fmt::format("-maxntid={}", threads));
  if (const unsigned blocks = value("min_cta_per_sm")) options.push_back(fmt::format("-minnctapersm={}", blocks));
  if (value("override_directive_values") != 0) options.emplace_back("-override-directive-values");
  if (value("position_independent_code") != 0) options.emplace_back("-pic=true");
  assembler.options.insert(assembler.options.begin(), options.begin(), options.end());
  return assembler;
}

std::string target_of(std::string_view ptx) { return word_behind(ptx, ".target"); }
std::string version_of(std::string_view ptx) { return word_behind(ptx, ".version"); }

Result<Translation> take_program_code(const ProgramCode& code, const AssemblerOptions& assembler, const DriverOptions& program,
                                      const std::string& architecture) {
  Translation translation;
  translation.architecture = architecture;
  translation.kernels = {code.kernel};
  const bool runs = !code.machine_code.empty() && (code.assembly.empty() || runs_on(code.architecture, architecture));
  if (runs && assembler == AssemblerOptions()) {
    translation.machine_code = code.machine_code;
    return translation;
  }
  if (code.assembly.empty())
    return error(Code::unsupported, "assembling '{}' for {}: its PTX was not recorded", code.kernel, architecture);
  const auto directives = find_directives(code.assembly, code.kernel);
  if (!directives)
    return error(Code::invalid_argument, "assembling '{}' for {}: the recorded PTX has no such kernel", code.kernel,
                 architecture);
  MNEME_TRY(check_registers("assembler.max_registers", assembler.max_registers, architecture));
  translation.code = code.assembly;
  translation.assembler = with_options_of(program, assembler);
  // Such as "sm_90a", whose PTX runs on no other architecture.
  if (const std::string target = target_of(code.assembly); target == architecture + "a" || target == architecture + "f")
    translation.architecture = target;
  if (assembler.max_registers && directives->bounded) {
    translation.code = with_register_cap(code.assembly, *directives, *assembler.max_registers);
    translation.assembler.max_registers.reset();
  }
  return translation;
}

std::optional<Dim3> required_block(const ProgramCode& code) {
  if (const auto block = required_block(code.machine_code, code.kernel)) return block;
  const auto directives = find_directives(code.assembly, code.kernel);
  return directives ? directives->required_block : std::nullopt;
}

}  // namespace mneme::nvptx
