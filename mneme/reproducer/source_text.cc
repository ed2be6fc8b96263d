#include "mneme/reproducer/source_text.h"

#include <algorithm>
#include <cstring>

#include "mneme/base/shown.h"

namespace mneme {
namespace {

// Text within a comment of one line: a backslash at its end would join the next line to it.
std::string in_comment(std::string_view text) {
  std::string words = shown(text, 0);
  std::ranges::replace(words, '\\', '/');
  return words;
}

std::string hex_bytes(ByteSpan bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}0x{:02x}", i == 0 ? "" : i % 16 == 0 ? ",\n    " : ", ", std::to_integer<unsigned>(bytes[i]));
  return text;
}

// Text that stands between the single quotes of a shell, in a makefile.
std::string quotable(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else if (c == '$')
      word += "$$";
    else
      word += c == '\n' ? ' ' : c;
  }
  return word;
}

// The value, where it is one that people read.
std::string value_of(const Parameter& parameter, ByteSpan bytes) {
  uint64_t bits = 0;
  if (bytes.size() > sizeof bits) return "";
  std::memcpy(&bits, bytes.data(), bytes.size());
  switch (parameter.kind) {
    case Parameter::Kind::pointer: return fmt::format(" = {:#x}", bits);
    case Parameter::Kind::floating:
      if (bytes.size() == 4) return fmt::format(" = {}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
      return bytes.size() == 8 ? fmt::format(" = {}", std::bit_cast<double>(bits)) : "";
    case Parameter::Kind::integer: {
      const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
      return fmt::format(" = {}", static_cast<int64_t>(bits << unused) >> unused);
    }
    case Parameter::Kind::aggregate:
    case Parameter::Kind::opaque: break;
  }
  return "";
}

std::string arguments_text(const SourceLaunch& launch) {
  std::string text, list;
  for (size_t i = 0; i < launch.kernel.parameters.size(); ++i) {
    const Parameter& parameter = launch.kernel.parameters[i];
    const ByteSpan bytes = ByteSpan(launch.instance.parameters).subspan(parameter.offset, parameter.size);
    if (bytes.empty()) continue;
    text += fmt::format("// '{}' {}{}\n", in_comment(parameter.name), in_comment(parameter.type), value_of(parameter, bytes));
    text += fmt::format("alignas({}) inline unsigned char argument_{}[] = {{{}}};\n", std::max(parameter.alignment, 16u), i,
                        hex_bytes(bytes));
    list += fmt::format("argument_{}, ", i);
  }
  return text + fmt::format("inline void* arguments[] = {{{}nullptr}};\n", list);
}

std::string shape_text(const LaunchShape& shape) {
  const auto extents = [](const Dim3& d) { return fmt::format("{{{}, {}, {}}}", d.x, d.y, d.z); };
  return fmt::format(
      "inline const unsigned grid[3] = {}, block[3] = {}, cluster[3] = {};\n"
      "inline const unsigned shared_memory = {};  // dynamic, in bytes\n"
      "inline const bool cooperative = {};\n",
      extents(shape.grid), extents(shape.block), extents(shape.cluster == kNoCluster ? Dim3{1, 1, 1} : shape.cluster),
      shape.dynamic_shared_memory.count, shape.cooperative);
}

std::string memory_text(const SourceMemory& memory) {
  std::string text =
      "// What is reserved for the kernel's memory; a driver takes a fixed address for whole blocks of 32 MiB alone.\n"
      "struct Range {\n  unsigned long long address, size;\n};\n"
      "inline const std::vector<Range> reservations = {\n";
  for (const MemoryRange& range : memory.reservations)
    text += fmt::format("    {{{:#x}, {:#x}}},\n", range.address.address, range.size.count);
  text +=
      "};\n\n// What is mapped there, in granules of 2 MiB; and variables of the code, each where the driver puts it. `changed`: "
      "the "
      "recorded\n// kernel has changed it.\n"
      "struct Span {\n  unsigned long long address, size;\n  const char* variable;  // null: none\n  bool on_host, changed;\n};\n"
      "inline const std::vector<Span> spans = {\n";
  for (const SourceMemory::Span& span : memory.spans)
    text += fmt::format("    {{{:#x}, {:#x}, {}, {}, {}}},\n", span.range.address.address, span.range.size.count,
                        span.variable.empty() ? "nullptr" : c_literal(span.variable), span.on_host, span.changed);
  text +=
      "};\n\n// What the program had allocated there, and the files that have it. kZero: every byte is zero. kSame: as before "
      "the "
      "launch.\n"
      "inline constexpr char kZero[] = \"zero\", kSame[] = \"same\";\n"
      "struct Region {\n  size_t span;\n  unsigned long long offset;  // in the span\n  const char *before, *after;\n};\n"
      "inline const std::vector<Region> regions = {\n";
  const auto file = [](const std::string& name) { return name.empty() ? std::string("kZero") : c_literal(name); };
  for (const SourceMemory::Region& region : memory.regions)
    text += fmt::format("    {{{}, {:#x}, {}, {}}},  // {}\n", region.span, region.offset, file(region.before),
                        region.same ? "kSame" : file(region.after), in_comment(region.what));
  text +=
      "};\n\n// The pages that are in the files of a region, one behind the other. Every byte of other memory has the value "
      "kLeftOut, "
      "before\n// the launch and after it: the kernel neither reads nor writes it.\n";
  text += fmt::format("inline const unsigned char kLeftOut = {:#x};\n", std::to_integer<unsigned>(kDropped));
  text +=
      "struct Pages {\n  size_t region;\n  unsigned long long offset, size;  // in the region\n};\n"
      "inline const std::vector<Pages> kept_pages = {\n";
  for (const SourceMemory::Pages& pages : memory.pages)
    text += fmt::format("    {{{}, {:#x}, {:#x}}},\n", pages.region, pages.offset, pages.size.count);
  return text + "};\n";
}

std::string tolerance_text(const Tolerance& t) {
  constexpr const char *kErrors[] = {"kAbsolute", "kRelative", "kUlp"}, *kNorms[] = {"kNoSum", "kL1", "kL2", "kLinf"},
                       *kNans[] = {"kNanRecorded", "kNanAny", "kNanNone"};
  const auto word = [](const char* name) { return fmt::format("compare::element::{}", name); };
  return fmt::format("{{{}, {}, {}, {}}};  // {}", t.threshold, word(kErrors[static_cast<size_t>(t.error)]),
                     word(kNorms[static_cast<size_t>(t.norm)]), word(kNans[static_cast<size_t>(t.nan)]), format_tolerance(t));
}

std::string pieces_text(const SourceLaunch& launch) {
  std::string text = "// What is compared by name, element by element; by its bytes where no tolerance stands behind it.\n", list;
  size_t tolerances = 0;
  for (const TypedRange& range : launch.pieces.ranges) {
    const auto& tolerated = launch.pieces.tolerated;
    const auto same = [&](const ToleratedRange& t) { return t.region == range.region && t.offset == range.offset; };
    const auto tolerance = std::ranges::find_if(tolerated, same);
    std::string pointer = "nullptr";
    std::optional<ElementType> type = range.type;
    if (tolerance != tolerated.end()) {
      pointer = fmt::format("&tolerance_{}", tolerances);
      type = tolerance->tolerance.type;
      text +=
          fmt::format("inline const compare::Tolerance tolerance_{} = {}\n", tolerances++, tolerance_text(tolerance->tolerance));
    }
    const SourceMemory::Region& region = launch.memory.regions[range.region];
    list += fmt::format("    {{{}, {}, {:#x}, {:#x}, compare::{}, {}}},\n", c_literal(range.where), region.span,
                        region.offset + range.offset, range.size.count, type ? to_string(*type) : "bytes", pointer);
  }
  return text + "inline const std::vector<compare::Piece> pieces = {\n" + list + "};\n";
}

// In the definition of a variable of make a # would begin a comment.
std::string variable_text(std::string text) {
  for (size_t at = 0; (at = text.find('#', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + recipe_word(word);
  return variable_text(text);
}

std::string fidelity_words(const ToolCommands& tools, const SourceVendor& vendor) {
  switch (tools.fidelity) {
    case ToolCommands::Fidelity::same: return fmt::format("They give this {} to the byte.", vendor.translated);
    case ToolCommands::Fidelity::linkage:
      return fmt::format(
          "They give this {} but for who may call the functions beside the kernel (.weak, .visible): the instructions are the "
          "same.",
          vendor.translated);
    case ToolCommands::Fidelity::other: break;
  }
  return fmt::format(
      "They do NOT give this {}: Mneme calls LLVM's libraries, by which it can do what opt has no word for. See whether what you "
      "look for is in both.",
      vendor.translated);
}

std::string llvm_rules(const ToolCommands& tools, const SourceVendor& vendor) {
  const std::string major = tools.llvm.substr(0, tools.llvm.find('.'));
  std::string text = fmt::format("OPT ?= opt-{}\nLLC ?= llc-{}\n", major, major);
  if (vendor.links) text += fmt::format("LLD ?= ld.lld-{}\n", major);
  text += fmt::format("\n# As Mneme ran them, by the libraries of LLVM {}. {}\n", tools.llvm, fidelity_words(tools, vendor));
  text += fmt::format("PASSES = {}\nOPTFLAGS = {}\nLLCFLAGS = {}\n\n", variable_text(quotable(tools.passes)), words_of(tools.opt),
                      words_of(tools.llc));
  text += "kernel.optimised.ll: kernel.ll\n";
  if (tools.cleaning.empty()) {
    text += "\t$(OPT) $(OPTFLAGS) '-passes=$(PASSES)' -S $< -o $@\n";
  } else {
    text += "\t$(OPT) $(OPTFLAGS) '-passes=$(PASSES)' -S $< -o $@.part\n";
    text += fmt::format("\t$(OPT) $(OPTFLAGS) {} -S $@.part -o $@\n\trm $@.part\n", recipe_word("-passes=" + tools.cleaning));
  }
  const auto rule = [](std::string_view file, std::string_view option) {
    return fmt::format("\n{}: kernel.optimised.ll\n\t$(LLC) $(LLCFLAGS) {}{}$< -o $@\n", file, option, option.empty() ? "" : " ");
  };
  text += rule(vendor.translated, vendor.llc);
  if (!vendor.assembly.empty()) text += rule(vendor.assembly, "");
  return text + "\n";
}

}  // namespace

std::string c_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= ' ' && byte < 0x7f && c != '"' && c != '\\' && c != '?';
    literal += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return literal + "\"";
}

std::string recipe_word(std::string_view text) {
  constexpr std::string_view kPlain = "+-./,:=_@%";
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  return "'" + quotable(text) + "'";
}

std::string launch_header(const SourceLaunch& launch, const SourceCode& code) {
  const InstanceRecord& instance = launch.instance;
  std::string text =
      fmt::format("// One launch of '{}', which was recorded on '{}'\n// at {}, by Mneme {}: kernel {}, launch {}.\n//\n",
                  in_comment(launch.kernel.demangled), in_comment(instance.device_name), in_comment(instance.recorded_at),
                  in_comment(instance.mneme_version), launch.kernel.static_hash.hex(), instance.dynamic_hash.hex());
  text += fmt::format(
      "// Code: '{}' for {} by {}.\n// Memory: {}.\n// Masked: {}.\n#pragma once\n\n#include <cstddef>\n#include <vector>\n\n",
      in_comment(code.pipeline), in_comment(code.architecture), in_comment(code.assembler), in_comment(launch.memory_words),
      in_comment(launch.masked_words));
  text += "#include \"compare.h\"\n\n";
  text += fmt::format("inline const char kernel_name[] = {};\n", c_literal(launch.kernel.name));
  return text + shape_text(launch.shape) + "\n" + arguments_text(launch) + "\n" + memory_text(launch.memory) + "\n" +
         pieces_text(launch);
}

std::string makefile(const KernelRecord& kernel, const SourceCode& code) {
  const SourceVendor& vendor = *code.vendor;
  std::string text = fmt::format(
      "# '{}'.\n#\n"
      "#   make         builds what is older than that of which it is made: at first the program alone\n"
      "#   make run     runs the launch\n"
      "#   make -B      builds everything anew, with the compiler's own programs\n#\n"
      "# Change any file and make builds what is behind it. All files have one time at first. Where copying them has given them\n"
      "# others, `make touch` tells make that they belong together; then neither LLVM nor {} is needed.\n"
      "{}"
      "CXXFLAGS ?= -O2 -Wall -Wextra -Wno-unknown-pragmas\n"
      "RUNS ?= 10\n",
      in_comment(kernel.demangled), vendor.tool, vendor.definitions);
  const bool has_assembly = code.tools && !vendor.assembly.empty();
  std::string code_files = code.tools ? "kernel.ll kernel.optimised.ll " : "";
  if (has_assembly) code_files += fmt::format("{} ", vendor.assembly);
  if (!code.translated.empty()) code_files += fmt::format("{} ", vendor.translated);
  code_files += vendor.code;
  // `all` comes first, which is what make builds.
  text += fmt::format("\nall: program {}{}{}\n\n", vendor.code, has_assembly ? " " : "", has_assembly ? vendor.assembly : "");
  if (code.tools) text += llvm_rules(*code.tools, vendor);
  if (code.assembler_arguments.empty()) {
    text += fmt::format("# {} is the program's own machine code: nothing here makes it.\n\n", vendor.code);
  } else {
    text += fmt::format("# {}\n", code.image.empty() ? fmt::format("No assembler was there to make {}.", vendor.code)
                                                     : fmt::format("This {} is by {}.", vendor.code, in_comment(code.assembler)));
    text += fmt::format("{0}FLAGS = {1}\n\n{2}: {3}\n\t$({0}) $({0}FLAGS) $< -o $@\n\n", vendor.variable,
                        words_of(code.assembler_arguments), vendor.code, vendor.translated);
  }
  return text + fmt::format(
                    "program: main.cpp files.h gpu.h memory.h compare.h element_math.h launch.h\n"
                    "\t$(CXX) -std=c++17 $(CXXFLAGS) {} $< -o $@ $(LDFLAGS) {}\n\n"
                    "run: all\n\t./program $(RUNS)\n\n"
                    "touch:\n\ttouch -c {}\n\n"
                    "clean:\n\trm -f program\n\n.PHONY: all run touch clean\n",
                    vendor.compiling, vendor.linking, code_files);
}

}  // namespace mneme
