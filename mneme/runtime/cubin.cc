// Kernels and variables of a cubin. What the sections are called, and what the attributes of a kernel mean, is not documented by
// the vendor; it was read off cubins that the toolkit's assembler makes.
#include <algorithm>
#include <map>
#include <set>

#include "mneme/abi/segment.h"
#include "mneme/runtime/code_object.h"
#include "mneme/runtime/device_code.h"
#include "mneme/runtime/elf_view.h"

namespace mneme {
namespace {

constexpr unsigned char kKernelFlag = 0x10;   // in st_other of a function that can be launched
constexpr unsigned char kManagedFlag = 0x04;  // in st_other of a variable
constexpr uint8_t kWordsAttribute = 4;        // an attribute that has a length and so many bytes
constexpr uint8_t kExterns = 0x0f;            // indices of the symbols that the kernel needs from elsewhere

std::string_view kernel_of(std::string_view section) {
  for (const std::string_view prefix :
       {".text.", ".nv.info.", ".nv.constant0.", ".nv.constant2.", ".nv.shared.", ".nv.local.", ".rel.text.", ".rela.text."})
    if (section.starts_with(prefix)) return section.substr(prefix.size());
  return {};
}

// The symbols that a kernel's attributes name as needed from elsewhere.
std::vector<uint32_t> externs_in(ByteSpan attributes) {
  std::vector<uint32_t> symbols;
  struct Head {
    uint8_t format, attribute;
    uint16_t value;
  } head;
  for (uint64_t at = 0; read_at(attributes, at, head); at += sizeof head) {
    if (head.format != kWordsAttribute) continue;
    for (uint64_t word = 0; head.attribute == kExterns && word + sizeof(uint32_t) <= head.value; word += sizeof(uint32_t)) {
      uint32_t symbol = 0;
      if (read_at(attributes, at + sizeof head + word, symbol)) symbols.push_back(symbol);
    }
    at += head.value;
  }
  return symbols;
}

// A kernel's attributes name what the functions that it calls need, too.
void add_extern(CubinKernel& kernel, std::string_view name) {
  kernel.allocates = kernel.allocates || name == "malloc" || name == "free";
  kernel.launches = kernel.launches || name.starts_with("__cuda_syscall_cnp");  // of the CUDA device runtime
}

// What code refers to, by name: indices change with the other kernels of the cubin.
void add_relocations(Hasher& hasher, const Elf64_Shdr& section, ByteSpan content,
                     const std::map<uint64_t, std::string_view>& symbols) {
  const uint64_t size = section.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  for (uint64_t at = 0; at + size <= content.size(); at += size) {
    Elf64_Rela entry{};
    std::memcpy(&entry, content.data() + at, size);
    hasher.add(entry.r_offset).add(ELF64_R_TYPE(entry.r_info)).add(static_cast<uint64_t>(entry.r_addend));
    if (auto known = symbols.find(ELF64_R_SYM(entry.r_info)); known != symbols.end()) hasher.add(known->second);
  }
}

// Variables of the CUDA device runtime, which is linked to code that launches kernels. They hold addresses of the loaded image,
// and the program has no names for them.
bool is_of_device_runtime(std::string_view variable) {
  return variable.find("_cuda_device_runtime_cu_") != std::string_view::npos || variable.starts_with("cudartError") ||
         variable == "__CNPRT_VERSION_NUMBER__";
}

bool is_kernel(const Elf64_Sym& symbol) {
  const bool defined = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
  return defined && (symbol.st_other & kKernelFlag) != 0;
}

}  // namespace

Result<CubinKernel> read_cubin_kernel(ByteSpan cubin, std::string_view kernel, const std::string& name) {
  MNEME_ASSIGN(const ElfView elf, ElfView::open(cubin, name));
  std::set<std::string_view> kernels;
  std::map<uint64_t, std::string_view> symbols;
  MNEME_TRY(elf.visit_all_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name, uint64_t index) {
    symbols[index] = symbol_name;
    if (is_kernel(symbol)) kernels.insert(symbol_name);
  }));
  if (!kernels.contains(kernel)) return error(Code::not_found, "{}: the cubin has no kernel {}", name, kernel);

  CubinKernel found;
  bool some_kernel_allocates = false;
  Hasher hasher;
  hasher.add(std::string_view("mneme cubin kernel 1"));
  hasher.add(kernel);
  for (uint64_t index = 0; index < elf.section_count(); ++index) {
    MNEME_ASSIGN(const Elf64_Shdr section, elf.section(index));
    MNEME_ASSIGN(const std::string_view section_name, elf.name_of(section));
    const std::string_view of = kernel_of(section_name);
    if (section_name.starts_with(".nv.info.")) {
      MNEME_ASSIGN(const ByteSpan attributes, elf.content(section));
      CubinKernel any;
      for (const uint32_t symbol : externs_in(attributes))
        if (auto known = symbols.find(symbol); known != symbols.end()) add_extern(any, known->second);
      some_kernel_allocates = some_kernel_allocates || any.allocates;
      if (of == kernel) {
        found.allocates |= any.allocates;
        found.launches |= any.launches;
      }
      continue;
    }
    // Code of the cubin that is no kernel may be called; which of it is, only the instructions tell.
    if (of.empty() || (of != kernel && (kernels.contains(of) || !section_name.starts_with(".text.")))) continue;
    MNEME_ASSIGN(const ByteSpan content, elf.content(section));
    hasher.add(section_name);
    if (section_name.starts_with(".rel"))
      add_relocations(hasher, section, content, symbols);
    else
      hasher.add(content);
  }
  found.digest = hasher.finish();
  if (!found.launches) return found;
  // Which kernels, only the instructions tell, or memory.
  found.allocates = some_kernel_allocates;
  Hasher whole;
  found.digest = whole.add(std::string_view("mneme cubin kernel that launches 1")).add(kernel).add(cubin).finish();
  return found;
}

Result<ByteVector> keep_kernel(ByteSpan code, std::string_view kernel, const std::string& name) {
  if (is_code_object(code)) return keep_kernel_of_code_object(code, kernel, name);
  const ByteSpan cubin = code;
  MNEME_ASSIGN(const ElfView elf, ElfView::open(cubin, name));
  ByteVector kept(cubin.begin(), cubin.end());
  const auto clear = [&](ByteSpan part) {
    if (!part.empty()) std::memset(kept.data() + (part.data() - cubin.data()), 0, part.size());
  };
  std::set<std::string_view> others;
  bool found = false;
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    found = found || (is_kernel(symbol) && symbol_name == kernel);
    if (is_kernel(symbol) && symbol_name != kernel) others.insert(symbol_name);
    if (!symbol_name.starts_with(MNEME_SEGMENT_PREFIX)) return;
    if (auto segment = elf.bytes_of(symbol); segment.ok()) clear(*segment);
  }));
  if (!found) return error(Code::not_found, "{}: the cubin has no kernel {}", name, kernel);
  for (uint64_t index = 0; index < elf.section_count(); ++index) {
    MNEME_ASSIGN(const Elf64_Shdr section, elf.section(index));
    MNEME_ASSIGN(const std::string_view section_name, elf.name_of(section));
    const bool is_code = section_name.starts_with(".text.") || section_name.starts_with(".rel");
    if (!is_code || !others.contains(kernel_of(section_name))) continue;
    MNEME_ASSIGN(const ByteSpan content, elf.content(section));
    clear(content);
  }
  return kept;
}

Result<std::vector<CubinVariable>> read_cubin_variables(ByteSpan cubin, const std::string& name) {
  MNEME_ASSIGN(const ElfView elf, ElfView::open(cubin, name));
  std::map<uint16_t, std::pair<std::string, uint64_t>> homes;  // of sections with variables: name, alignment
  for (uint64_t index = 0; index < elf.section_count(); ++index) {
    MNEME_ASSIGN(const Elf64_Shdr section, elf.section(index));
    MNEME_ASSIGN(const std::string_view section_name, elf.name_of(section));
    if (section_name == ".nv.global" || section_name == ".nv.global.init" || section_name == ".nv.constant3")
      homes[static_cast<uint16_t>(index)] = {std::string(section_name), section.sh_addralign};
  }
  std::vector<CubinVariable> variables;
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    const auto home = homes.find(symbol.st_shndx);
    if (home == homes.end() || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) return;
    // "$str" and the like hold the text of printf, which nobody writes.
    if (symbol_name.empty() || symbol_name.starts_with('$') || symbol_name.starts_with(MNEME_SEGMENT_PREFIX) ||
        is_of_device_runtime(symbol_name))
      return;
    const uint64_t alignment = std::clamp<uint64_t>(home->second.second, 1, 256);
    variables.push_back({std::string(symbol_name), symbol.st_size, static_cast<uint32_t>(alignment & ~(alignment - 1)),
                         home->second.first == ".nv.constant3", (symbol.st_other & kManagedFlag) != 0});
  }));
  std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return variables;
}

}  // namespace mneme
