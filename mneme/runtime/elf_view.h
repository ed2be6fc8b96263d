// ElfView: the sections and symbols of a device ELF. Not for other rooms.
//
// It is a view: the bytes and the name must outlive it. Every access is checked; what reaches beyond the file is corrupt.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

template <typename T>
bool read_at(ByteSpan bytes, uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

inline bool inside(ByteSpan bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// The machines of device ELF files.
constexpr uint16_t kMachineCuda = 190, kMachineAmdGpu = 224;

class ElfView {
 public:
  // corrupt: no 64-bit ELF file. incompatible: one for another machine than CUDA's.
  static Result<ElfView> open(ByteSpan bytes, const std::string& name) {
    MNEME_ASSIGN(ElfView elf, open_any(bytes, name));
    if (elf.header_.e_machine != kMachineCuda)
      return error(Code::incompatible, "{}: a device ELF for machine {}, {} (CUDA) expected", name, elf.header_.e_machine,
                   kMachineCuda);
    return elf;
  }
  // The same for any machine.
  static Result<ElfView> open_any(ByteSpan bytes, const std::string& name) {
    ElfView elf(bytes, name);
    if (!read_at(bytes, 0, elf.header_) || std::memcmp(elf.header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.header_.e_ident[EI_CLASS] != ELFCLASS64)
      return elf.corrupt(0, "no 64-bit ELF header");
    if (elf.header_.e_shentsize != sizeof(Elf64_Shdr)) return elf.corrupt(0x3a, "section headers of another size");
    return elf;
  }

  const Elf64_Ehdr& header() const { return header_; }
  uint64_t section_count() const { return header_.e_shnum; }
  Result<Elf64_Shdr> section(uint64_t index) const {
    Elf64_Shdr out;
    if (index >= header_.e_shnum || !read_at(bytes_, header_.e_shoff + index * sizeof out, out))
      return corrupt(header_.e_shoff, fmt::format("there is no section {}", index));
    return out;
  }
  // Empty for a section that takes no room in the file.
  Result<ByteSpan> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return ByteSpan();
    if (!inside(bytes_, section.sh_offset, section.sh_size))
      return corrupt(section.sh_offset, "a section reaches beyond the file");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  Result<std::string_view> name_of(const Elf64_Shdr& section) const {
    MNEME_ASSIGN(const Elf64_Shdr names, this->section(header_.e_shstrndx));
    MNEME_ASSIGN(const ByteSpan strings, content(names));
    if (section.sh_name >= strings.size()) return corrupt(names.sh_offset, "a section's name reaches beyond the names");
    return text_at(strings, section.sh_name);
  }
  // The bytes of a symbol, from the section that holds it.
  Result<ByteSpan> bytes_of(const Elf64_Sym& symbol) const {
    MNEME_ASSIGN(const Elf64_Shdr home, section(symbol.st_shndx));
    MNEME_ASSIGN(const ByteSpan bytes, content(home));
    const uint64_t offset = symbol.st_value - home.sh_addr;
    if (!inside(bytes, offset, symbol.st_size)) return corrupt(home.sh_offset, "a symbol reaches beyond its section");
    return bytes.subspan(offset, symbol.st_size);
  }
  // Calls visit(symbol, name, index) for each symbol of the file, those included that no section defines.
  template <typename Visit>
  Status visit_all_symbols(Visit visit) const {
    for (uint64_t index = 0; index < section_count(); ++index) {
      MNEME_ASSIGN(const Elf64_Shdr table, section(index));
      if (table.sh_type != SHT_SYMTAB) continue;
      MNEME_ASSIGN(const ByteSpan symbols, content(table));
      MNEME_ASSIGN(const Elf64_Shdr names, section(table.sh_link));
      MNEME_ASSIGN(const ByteSpan strings, content(names));
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        read_at(symbols, at, symbol);
        if (symbol.st_name < strings.size()) visit(symbol, text_at(strings, symbol.st_name), at / sizeof(Elf64_Sym));
      }
    }
    return {};
  }
  // Calls visit(symbol, name) for each symbol that a section of the file defines.
  template <typename Visit>
  Status visit_symbols(Visit visit) const {
    return visit_all_symbols([&](const Elf64_Sym& symbol, std::string_view name, uint64_t) {
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE) visit(symbol, name);
    });
  }

  Status corrupt(uint64_t offset, std::string_view what) const {
    return error(Code::corrupt, "{}: device ELF offset {}: {}", name_, offset, what);
  }

 private:
  ElfView(ByteSpan bytes, const std::string& name) : bytes_(bytes), name_(name) {}
  static std::string_view text_at(ByteSpan strings, uint64_t offset) {
    const char* text = reinterpret_cast<const char*>(strings.data()) + offset;
    return {text, strnlen(text, strings.size() - offset)};
  }

  ByteSpan bytes_;
  const std::string& name_;
  Elf64_Ehdr header_;
};

}  // namespace mneme
