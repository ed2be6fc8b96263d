#include "mneme/runtime/code_object.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "mneme/abi/segment.h"
#include "mneme/runtime/code_bundle.h"
#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/segments.h"

namespace mneme {
namespace {

constexpr uint64_t kBundleAlignment = 4096;      // of code objects in a bundle, as clang has it
constexpr std::string_view kDescriptor = ".kd";  // ends the name of a kernel's descriptor; the kernel's name stands before it

bool is_elf(const void* bytes) { return std::memcmp(bytes, ELFMAG, SELFMAG) == 0; }

void append(ByteVector& to, const void* from, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

// The architecture that the segments of a code object are for. One without segments has nothing that could run.
Result<std::string> target_of(ByteSpan code, const std::string& name) {
  MNEME_ASSIGN(const SegmentTable table, read_segments(code, name));
  return table.segments.empty() ? std::string("unknown") : std::string(table.segments.front().arch);
}

}  // namespace

ImageWrapper wrap_bundle(ByteSpan bundle) { return {kBundleWrapper, 1, bundle.data(), nullptr}; }

Result<ByteSpan> code_object_at(const void* image) {
  if (is_elf(image)) return image_at(image);
  const ImageWrapper wrapper{kBundleWrapper, 1, static_cast<const std::byte*>(image), nullptr};
  return bundle_of_wrapper(&wrapper);
}

Result<ByteVector> bundle_of(ByteSpan code, const std::string& name) {
  if (code.size() < SELFMAG || !is_elf(code.data())) return ByteVector(code.begin(), code.end());
  MNEME_ASSIGN(const std::string target, target_of(code, name));
  const std::string entry = "hipv4-amdgcn-amd-amdhsa--" + target;
  ByteVector bundle;
  append(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
  const uint64_t count = 1, words[] = {kBundleAlignment, code.size(), entry.size()};
  append(bundle, &count, sizeof count);
  append(bundle, words, sizeof words);
  append(bundle, entry.data(), entry.size());
  bundle.resize(kBundleAlignment);
  append(bundle, code.data(), code.size());
  return bundle;
}

Result<CodeSymbols> read_code_symbols(ByteSpan bundle, const std::string& name) {
  MNEME_ASSIGN(const DeviceElf code, find_code_object(bundle, "", name));
  return read_code_object_symbols(code.bytes, name);
}

Result<CodeSymbols> read_code_object_symbols(ByteSpan code_object, const std::string& name) {
  MNEME_ASSIGN(const ElfView elf, ElfView::open_any(code_object, name));
  constexpr std::string_view kManaged = ".managed";  // what a managed variable holds at first, likewise
  CodeSymbols symbols;
  Status damaged;
  const auto add_managed = [&](const Elf64_Sym& symbol, std::string_view variable) {
    ByteVector& value = symbols.managed[std::string(variable)];
    const auto home = elf.section(symbol.st_shndx);
    if (home.ok() && home->sh_type == SHT_NOBITS) return value.resize(symbol.st_size);
    const auto bytes = elf.bytes_of(symbol);
    if (bytes.ok())
      value.assign(bytes->begin(), bytes->end());
    else
      damaged = bytes.status();
  };
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_size == 0) return;
    if (symbol_name.ends_with(kDescriptor))
      symbols.kernels.emplace_back(symbol_name.substr(0, symbol_name.size() - kDescriptor.size()));
    else if (symbol_name.ends_with(kManaged))
      add_managed(symbol, symbol_name.substr(0, symbol_name.size() - kManaged.size()));
    else
      symbols.variables.emplace(symbol_name, symbol.st_size);
  }));
  MNEME_TRY(damaged);
  for (const auto& [variable, value] : symbols.managed) symbols.variables.erase(variable);
  return symbols;
}

bool is_code_object(ByteSpan bytes) {
  const std::string no_name;
  const auto elf = ElfView::open_any(bytes, no_name);
  return elf.ok() && elf->header().e_machine == kMachineAmdGpu;
}

Result<ByteVector> keep_kernel_of_code_object(ByteSpan code_object, std::string_view kernel, const std::string& name) {
  MNEME_ASSIGN(const ElfView elf, ElfView::open_any(code_object, name));
  MNEME_ASSIGN(const CodeSymbols symbols, read_code_object_symbols(code_object, name));
  const std::set<std::string_view> kernels(symbols.kernels.begin(), symbols.kernels.end());
  if (!kernels.contains(kernel)) return error(Code::not_found, "{}: the code object has no kernel {}", name, kernel);
  ByteVector kept(code_object.begin(), code_object.end());
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    const bool is_segment = symbol_name.starts_with(MNEME_SEGMENT_PREFIX);
    const bool is_other = symbol_name != kernel && kernels.contains(symbol_name) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (!is_segment && !is_other) return;
    const auto bytes = elf.bytes_of(symbol);
    if (bytes.ok() && !bytes->empty()) std::memset(kept.data() + (bytes->data() - code_object.data()), 0, bytes->size());
  }));
  return kept;
}

}  // namespace mneme
