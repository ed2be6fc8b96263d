#include "mneme/compile/nvptx/cubin_facts.h"

#include <cstring>
#include <string_view>

#include "mneme/compile/elf_file.h"

namespace mneme::nvptx {
namespace {

constexpr size_t kInstructionBytes = 16;
// The low 12 bits of an instruction say what it is.
constexpr uint64_t kOperationMask = 0xfff, kNop = 0x918, kBranch = 0x947;

uint64_t operation(llvm::ArrayRef<uint8_t> code, uint64_t index) {
  uint64_t word = 0;
  std::memcpy(&word, code.data() + index * kInstructionBytes, sizeof word);
  return word & kOperationMask;
}

uint64_t count_instructions(llvm::ArrayRef<uint8_t> code) {
  uint64_t count = code.size() / kInstructionBytes;
  while (count > 0 && operation(code, count - 1) == kNop) --count;
  if (count > 0 && operation(code, count - 1) == kBranch) --count;
  return count;
}

// Calls `visit` with each section's name and header.
template <typename Visit>
void for_each_section(const Elf& file, Visit visit) {
  auto sections = file.sections();
  if (!sections) return llvm::consumeError(sections.takeError());
  for (const auto& section : *sections) {
    if (auto name = file.getSectionName(section))
      visit(*name, section);
    else
      llvm::consumeError(name.takeError());
  }
}

// Calls `visit` with the content of the section of that name.
template <typename Visit>
void with_section(ByteSpan cubin, const std::string& wanted, Visit visit) {
  auto file = Elf::create({reinterpret_cast<const char*>(cubin.data()), cubin.size()});
  if (!file) return llvm::consumeError(file.takeError());
  for_each_section(*file, [&](llvm::StringRef name, const Elf::Elf_Shdr& section) {
    if (name != wanted) return;
    auto content = file->getSectionContents(section);
    if (!content) return llvm::consumeError(content.takeError());
    visit(*content);
  });
}

void read_cubin(ByteSpan cubin, const std::string& kernel, CodeFacts& facts) {
  auto file = Elf::create({reinterpret_cast<const char*>(cubin.data()), cubin.size()});
  if (!file) return llvm::consumeError(file.takeError());
  uint64_t instructions = 0;
  bool found = false;
  for_each_section(*file, [&](llvm::StringRef name, const Elf::Elf_Shdr& section) {
    if (!name.starts_with(".text.")) return;
    auto code = file->getSectionContents(section);
    if (!code) return llvm::consumeError(code.takeError());
    instructions += count_instructions(*code);
    found = found || name == ".text." + kernel;
  });
  if (found) facts.instructions = instructions;
}

// The number before `unit` in `line`.
std::optional<uint64_t> number_before(std::string_view line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  while (end > 0 && line[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  uint64_t value = 0;
  if (begin == end || llvm::StringRef(line.substr(begin, end - begin)).getAsInteger(10, value)) return std::nullopt;
  return value;
}

template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void add(std::optional<Bytes>& sum, std::optional<uint64_t> bytes) {
  if (bytes) sum = sum.value_or(Bytes()) + Bytes(*bytes);
}

}  // namespace

CodeFacts read_facts(ByteSpan cubin, const std::string& log, const std::string& kernel) {
  CodeFacts facts;
  read_cubin(cubin, kernel, facts);
  // Of each function: "Function properties for NAME", then "N bytes stack frame, N bytes spill stores, N bytes spill loads"; and
  // of the kernel "Used N registers, …", with "N bytes cumulative stack size" where functions are called, and "N bytes smem".
  bool own = false;
  // Of several kernels, each has its lines behind "Compiling entry function 'NAME'".
  constexpr std::string_view kEntry = "Compiling entry function '";
  size_t entries = 0;
  for_each_line(log, [&](std::string_view line) { entries += line.find(kEntry) != std::string_view::npos; });
  bool is_kernels = entries < 2;
  if (!is_kernels) facts.instructions = count_instructions(cubin, kernel);
  for_each_line(log, [&](std::string_view line) {
    if (entries > 1 && line.find(kEntry) != std::string_view::npos)
      is_kernels = line.substr(line.find(kEntry) + kEntry.size()).starts_with(kernel + "'");
    if (!is_kernels) return;
    if (line.find("Function properties for ") != std::string_view::npos) own = line.ends_with(" for " + kernel);
    if (own && line.find(" bytes stack frame") != std::string_view::npos) {
      auto frame = number_before(line, " bytes stack frame");
      if (frame) facts.stack_frame = Bytes(*frame);
    }
    add(facts.spill_stores, number_before(line, " bytes spill stores"));
    add(facts.spill_loads, number_before(line, " bytes spill loads"));
    if (auto registers = number_before(line, " registers, used ")) {
      facts.registers = static_cast<uint32_t>(*registers);
      facts.static_shared_memory = Bytes(number_before(line, " bytes smem").value_or(0));
    }
    if (auto cumulative = number_before(line, " bytes cumulative stack size")) facts.stack_frame = Bytes(*cumulative);
  });
  return facts;
}

std::optional<uint64_t> count_instructions(ByteSpan cubin, const std::string& kernel) {
  std::optional<uint64_t> count;
  with_section(cubin, ".text." + kernel, [&](llvm::ArrayRef<uint8_t> code) { count = count_instructions(code); });
  return count;
}

// The section is a list of attributes. Each begins with a byte for its form and one for what it is; one in the last form has a
// size and so many bytes behind it, the others two bytes.
std::optional<Dim3> required_block(ByteSpan cubin, const std::string& kernel) {
  constexpr uint8_t kSized = 4, kRequiredBlock = 0x10;
  std::optional<Dim3> block;
  with_section(cubin, ".nv.info." + kernel, [&](llvm::ArrayRef<uint8_t> rest) {
    while (rest.size() >= 4) {
      const uint8_t form = rest[0], attribute = rest[1];
      const size_t size = form == kSized ? rest[2] | size_t{rest[3]} << 8 : 0;
      rest = rest.drop_front(4);
      if (size > rest.size()) return;
      Dim3 extents;
      if (attribute == kRequiredBlock && size == sizeof extents) {
        std::memcpy(&extents, rest.data(), sizeof extents);
        block = extents;
      }
      rest = rest.drop_front(size);
    }
  });
  return block;
}

std::vector<std::string> read_warnings(const std::string& log) {
  std::vector<std::string> warnings;
  for_each_line(log, [&](std::string_view line) {
    if (line.find("warning :") != std::string_view::npos || line.find("warning:") != std::string_view::npos)
      warnings.emplace_back(line);
  });
  return warnings;
}

std::string ignored_register_cap(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    if (warning.find("For profile") != std::string::npos ||  // "… adjusting per thread register count of 4 to lower bound of 24"
        warning.find("Too big maxrregcount") != std::string::npos)
      return warning;
  return "";
}

}  // namespace mneme::nvptx
