#include <llvm/IR/RuntimeLibcalls.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/TargetParser/Triple.h>

#include <array>
#include <string>

#include "mneme/cpu/lower/refusal.h"

namespace mneme::cpu {
namespace {

namespace ELF = llvm::ELF;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

Status damaged(llvm::Error failure) {
  return error(Code::corrupt, "the host's code is no object that can be linked: {}", llvm::toString(std::move(failure)));
}

// A section's name, or a name below it: ".rodata" and ".rodata.cst4".
bool is_in(llvm::StringRef name, llvm::StringRef family) {
  return name.consume_front(family) && (name.empty() || name.front() == '.');
}

// Sections of code, and sections of data of which no loader and no linker makes more than data.
bool is_harmless(llvm::StringRef name, uint32_t type, uint64_t flags) {
  switch (type) {
    case ELF::SHT_NULL:
    case ELF::SHT_SYMTAB:
    case ELF::SHT_SYMTAB_SHNDX:
    case ELF::SHT_STRTAB:
    case ELF::SHT_REL:
    case ELF::SHT_RELA:
    case ELF::SHT_LLVM_ADDRSIG: return true;
    case ELF::SHT_X86_64_UNWIND: return name == ".eh_frame";
    case ELF::SHT_NOTE: return name == ".note.gnu.property";
    case ELF::SHT_PROGBITS:
    case ELF::SHT_NOBITS: break;
    default: return false;
  }
  if ((flags & ELF::SHF_TLS) != 0) return false;
  if (is_in(name, ".text")) return (flags & ELF::SHF_WRITE) == 0 && (flags & ELF::SHF_EXECINSTR) != 0;
  if ((flags & ELF::SHF_EXECINSTR) != 0) return false;
  if ((flags & ELF::SHF_ALLOC) == 0)
    return name.starts_with(".debug_") || name == ".comment" || name == ".note.GNU-stack" || name == ".stack_sizes";
  constexpr std::array families = {".data", ".bss", ".rodata", ".ldata", ".lbss", ".lrodata"};
  return name == ".eh_frame" || llvm::any_of(families, [&](const char* family) { return is_in(name, family); });
}

// What LLVM makes of an operation that has no instruction, and of a loop that it knows.
bool is_called_by_llvm(llvm::StringRef name) {
  static const llvm::RTLIB::RuntimeLibcallsInfo known(llvm::Triple("x86_64-unknown-linux-gnu"));
  if (llvm::is_contained({"_GLOBAL_OFFSET_TABLE_", "memcmp", "bcmp", "strlen", "wcslen"}, name)) return true;
  if (name.starts_with("_Unwind_") || name.starts_with("__cxa_")) return false;
  return known.getSupportedLibcallImpl(name) != llvm::RTLIB::Unsupported;
}

// Functions that LLVM calls where a machine has no instruction, and that are in no library of the host's that an image is loaded
// with. Empty: it is none of them.
std::string_view operation_of_no_library(llvm::StringRef name) {
  if (name.starts_with("__atomic_")) return "an atomic operation that has no instruction, by its size or alignment,";
  if (name.starts_with("__llvm_") && name.contains("_element_unordered_atomic_"))
    return "an intrinsic as llvm.memcpy.element.unordered.atomic";
  return {};
}

class ObjectCheck {
 public:
  explicit ObjectCheck(const Elf& file) : file_(file) {}

  Status run() {
    auto sections = file_.sections();
    if (!sections) return damaged(sections.takeError());
    for (const auto& section : *sections) {
      auto name = file_.getSectionName(section);
      if (!name) return damaged(name.takeError());
      if (!is_harmless(*name, section.sh_type, section.sh_flags))
        return error(Code::unsupported,
                     "the code has a section '{}' of type {:#x}: the CPU device loads kernels, and no other code that IR brings "
                     "to the host",
                     name->str(), static_cast<uint32_t>(section.sh_type));
      if (section.sh_type == ELF::SHT_SYMTAB) MNEME_TRY(check_symbols(section));
    }
    return {};
  }

 private:
  Status check_symbols(const Elf::Elf_Shdr& table) {
    auto symbols = file_.symbols(&table);
    auto names = file_.getStringTableForSymtab(table);
    if (!symbols) return damaged(symbols.takeError());
    if (!names) return damaged(names.takeError());
    for (const auto& symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name) return damaged(name.takeError());
      MNEME_TRY(check_symbol(symbol, *name));
    }
    return {};
  }

  static Status check_symbol(const Elf::Elf_Sym& symbol, llvm::StringRef name) {
    if (symbol.getType() == ELF::STT_GNU_IFUNC || symbol.getType() == ELF::STT_TLS)
      return error(Code::unsupported, "the code has a symbol '{}' that a host's loader acts on by itself", name.str());
    if (symbol.getBinding() == ELF::STB_LOCAL) return {};
    if (symbol.st_shndx != ELF::SHN_UNDEF) {
      const bool exported = symbol.getVisibility() == ELF::STV_DEFAULT && !name.starts_with("__mneme_");
      if (!exported && name != "_init" && name != "_fini") return {};
      return error(Code::unsupported, "the code exports '{}', which a host's loader may take for its own", name.str());
    }
    if (const auto operation = operation_of_no_library(name); !operation.empty())
      return error(Code::unsupported, "the code calls '{}': {} is not supported on the CPU device", name.str(), operation);
    if (is_called_by_llvm(name)) return {};
    return error(Code::unsupported, "the code uses '{}' of the host, which is no function that code for the CPU device calls",
                 name.str());
  }

  const Elf& file_;
};

}  // namespace

Status check_object(ByteSpan object) {
  auto file = Elf::create({reinterpret_cast<const char*>(object.data()), object.size()});
  if (!file) return damaged(file.takeError());
  return ObjectCheck(*file).run();
}

}  // namespace mneme::cpu
