#include "mneme/compile/machine_instructions.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <vector>

#include "mneme/compile/elf_file.h"
#include "mneme/compile/fatal_error.h"

namespace mneme {
namespace {

class Disassembler {
 public:
  explicit Disassembler(const InstructionSet& set) : triple_(set.triple) {
    initialize_llvm();
    std::string ignored;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple_, ignored);
    if (!target) return;
    registers_.reset(target->createMCRegInfo(triple_));
    if (registers_) info_.reset(target->createMCAsmInfo(*registers_, triple_, options_));
    subtarget_.reset(target->createMCSubtargetInfo(triple_, set.processor, set.features));
    if (!info_ || !subtarget_) return;
    context_ = std::make_unique<llvm::MCContext>(triple_, info_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    instructions_.reset(target->createMCInstrInfo());
    if (instructions_)
      printer_.reset(target->createMCInstPrinter(triple_, info_->getAssemblerDialect(), *info_, *instructions_, *registers_));
  }

  bool works() const { return disassembler_ && printer_; }

  // Calls `visit` with each instruction, its address and its size; false: there is one that is none.
  template <typename Visit>
  bool for_each(llvm::ArrayRef<uint8_t> bytes, uint64_t address, Visit visit) const {
    for (uint64_t at = 0; at < bytes.size();) {
      llvm::MCInst instruction;
      uint64_t size = 0;
      if (disassembler_->getInstruction(instruction, size, bytes.slice(at), address + at, llvm::nulls()) ==
          llvm::MCDisassembler::Fail)
        return false;
      visit(instruction, address + at, size);
      at += size;
    }
    return true;
  }

  void print(const llvm::MCInst& instruction, uint64_t address, llvm::raw_ostream& stream) const {
    printer_->printInst(&instruction, address, "", *subtarget_, stream);
  }

 private:
  llvm::Triple triple_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> info_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

struct Function {
  std::string name;
  uint64_t address = 0;  // in its section of a relocatable object, else of the image
  llvm::ArrayRef<uint8_t> bytes;
};

// Nothing where the file is none.
std::optional<std::vector<Function>> functions_of(ByteSpan bytes) {
  auto file = llvm::expectedToOptional(Elf::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  auto sections = file ? llvm::expectedToOptional(file->sections()) : std::nullopt;
  if (!sections) return std::nullopt;
  std::vector<Function> functions;
  for (const auto& table : *sections) {
    if (table.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto symbols = llvm::expectedToOptional(file->symbols(&table));
    auto names = llvm::expectedToOptional(file->getStringTableForSymtab(table));
    if (!symbols || !names) return std::nullopt;
    for (const auto& symbol : *symbols) {
      if (symbol.getType() != llvm::ELF::STT_FUNC || symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      auto section = llvm::expectedToOptional(file->getSection(symbol.st_shndx));
      auto content = section ? llvm::expectedToOptional(file->getSectionContents(**section)) : std::nullopt;
      auto name = llvm::expectedToOptional(symbol.getName(*names));
      if (!content || !name || symbol.st_value < (*section)->sh_addr) return std::nullopt;
      const uint64_t begin = symbol.st_value - (*section)->sh_addr;
      if (begin > content->size() || symbol.st_size > content->size() - begin) return std::nullopt;
      functions.push_back({name->str(), symbol.st_value, content->slice(begin, symbol.st_size)});
    }
  }
  return functions;
}

Status no_disassembler(const InstructionSet& set) {
  return error(Code::unavailable, "disassembling for {}: LLVM has no disassembler for {}", set.processor, set.triple);
}

}  // namespace

std::optional<uint64_t> count_instructions(ByteSpan file, const InstructionSet& set) {
  const Disassembler disassembler(set);
  const auto functions = functions_of(file);
  if (!functions || !disassembler.works()) return std::nullopt;
  uint64_t total = 0;
  for (const Function& function : *functions)
    if (!disassembler.for_each(function.bytes, function.address, [&](const llvm::MCInst&, uint64_t, uint64_t) { ++total; }))
      return std::nullopt;
  return total;
}

Result<std::string> print_instructions(ByteSpan file, const InstructionSet& set) {
  const Disassembler disassembler(set);
  if (!disassembler.works()) return no_disassembler(set);
  auto functions = functions_of(file);
  if (!functions) return error(Code::corrupt, "disassembling for {}: it is no whole ELF file", set.processor);
  std::ranges::stable_sort(*functions, {}, &Function::address);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Function& function : *functions) {
    stream << (text.empty() ? "" : "\n") << function.name << ":\n";
    const auto print = [&](const llvm::MCInst& instruction, uint64_t address, uint64_t) {
      disassembler.print(instruction, address, stream);
      stream << '\n';
    };
    if (!disassembler.for_each(function.bytes, function.address, print))
      return error(Code::corrupt, "disassembling for {}: '{}' has bytes that are no instruction", set.processor, function.name);
  }
  return text;
}

Result<std::vector<MachineInstruction>> read_instructions(ByteSpan code, uint64_t address, const InstructionSet& set) {
  const Disassembler disassembler(set);
  if (!disassembler.works()) return no_disassembler(set);
  std::vector<MachineInstruction> instructions;
  const auto add = [&](const llvm::MCInst& instruction, uint64_t at, uint64_t size) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    disassembler.print(instruction, at, stream);
    instructions.push_back({at, size, llvm::StringRef(text).trim().str()});
  };
  if (!disassembler.for_each({reinterpret_cast<const uint8_t*>(code.data()), code.size()}, address, add))
    return error(Code::corrupt, "disassembling for {}: there are bytes that are no instruction", set.processor);
  return instructions;
}

}  // namespace mneme
