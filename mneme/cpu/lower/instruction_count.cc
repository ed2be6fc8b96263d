#include "mneme/cpu/lower/instruction_count.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

namespace mneme::cpu {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

class Disassembler {
 public:
  explicit Disassembler(const std::string& architecture) : triple_("x86_64-unknown-linux-gnu") {
    std::string ignored;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple_, ignored);
    if (!target) return;
    registers_.reset(target->createMCRegInfo(triple_));
    if (registers_) info_.reset(target->createMCAsmInfo(*registers_, triple_, options_));
    subtarget_.reset(target->createMCSubtargetInfo(triple_, architecture, ""));
    if (!info_ || !subtarget_) return;
    context_ = std::make_unique<llvm::MCContext>(triple_, info_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }

  std::optional<uint64_t> count(llvm::ArrayRef<uint8_t> bytes) const {
    if (!disassembler_) return std::nullopt;
    uint64_t instructions = 0;
    for (uint64_t at = 0; at < bytes.size(); ++instructions) {
      llvm::MCInst instruction;
      uint64_t size = 0;
      if (disassembler_->getInstruction(instruction, size, bytes.slice(at), at, llvm::nulls()) == llvm::MCDisassembler::Fail)
        return std::nullopt;
      at += size;
    }
    return instructions;
  }

 private:
  llvm::Triple triple_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> info_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

template <typename T>
std::optional<T> value_of(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  llvm::consumeError(expected.takeError());
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> count_instructions(ByteSpan object, const std::string& architecture) {
  Disassembler disassembler(architecture);
  auto file = value_of(Elf::create({reinterpret_cast<const char*>(object.data()), object.size()}));
  auto sections = file ? value_of(file->sections()) : std::nullopt;
  if (!sections) return std::nullopt;
  uint64_t total = 0;
  for (const auto& table : *sections) {
    if (table.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto symbols = value_of(file->symbols(&table));
    if (!symbols) return std::nullopt;
    for (const auto& symbol : *symbols) {
      if (symbol.getType() != llvm::ELF::STT_FUNC || symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      auto section = value_of(file->getSection(symbol.st_shndx));
      auto bytes = section ? value_of(file->getSectionContents(**section)) : std::nullopt;
      if (!bytes || symbol.st_value > bytes->size() || symbol.st_size > bytes->size() - symbol.st_value) return std::nullopt;
      auto count = disassembler.count(bytes->slice(symbol.st_value, symbol.st_size));
      if (!count) return std::nullopt;
      total += *count;
    }
  }
  return total;
}

}  // namespace mneme::cpu
