// What attributes and notes of a cubin mean is not documented by the vendor; it was read off cubins that the toolkit's assembler
// makes.
#include "mneme/compile/nvptx/cubin_comparison.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "mneme/compile/elf_file.h"
#include "mneme/compile/nvptx/cubin_facts.h"

namespace mneme::nvptx {
namespace {

using Section = Elf::Elf_Shdr;
using Content = llvm::ArrayRef<uint8_t>;
// What an instruction refers to: the offset in the code, the form, what is added, and the symbol.
using Reference = std::tuple<uint64_t, uint32_t, int64_t, std::string>;

constexpr std::string_view kCode = ".text.";
// Constant banks of a program: of its __constant__ variables, and of the addresses of others.
constexpr uint64_t kVariables = 3, kAddresses = 4;

uint32_t word_at(Content content, size_t at) {
  uint32_t word = 0;
  if (at + sizeof word <= content.size()) std::memcpy(&word, content.data() + at, sizeof word);
  return word;
}

class Cubin {
 public:
  // `name` is for messages.
  static Result<Cubin> read(ByteSpan bytes, const std::string& name) {
    auto file = Elf::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!file) return error(Code::corrupt, "{}: {}", name, llvm::toString(file.takeError()));
    auto sections = file->sections();
    if (!sections) return error(Code::corrupt, "{}: {}", name, llvm::toString(sections.takeError()));
    Cubin cubin(bytes, *file, name);
    for (const Section& section : *sections) cubin.sections_[or_empty(file->getSectionName(section)).str()] = &section;
    return cubin;
  }

  // Empty where there is no such section.
  Content content(const std::string& section) const {
    auto found = sections_.find(section);
    return found == sections_.end() ? Content() : or_empty(file_.getSectionContents(*found->second));
  }
  Content code_of(const std::string& function) const { return content(std::string(kCode) + function); }

  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const auto& [name, section] : sections_)
      if (name.starts_with(kCode)) names.push_back(name.substr(kCode.size()));
    return names;
  }

  // The kernel's symbol here: its name, or the only one with code that begins with it.
  Result<std::string> symbol_of(const std::string& kernel) const {
    if (sections_.contains(std::string(kCode) + kernel)) return kernel;
    std::vector<std::string> alike = functions();
    std::erase_if(alike, [&](const std::string& name) {
      return !name.starts_with(kernel) || llvm::all_of(code_of(name), [](uint8_t byte) { return byte == 0; });
    });
    if (alike.size() == 1) return alike.front();
    return error(Code::not_found, "{}: it has no kernel {}", name_, kernel);
  }

  // Of a section, by its name without the dot before it.
  std::vector<Reference> references_in(const std::string& referring) const {
    std::vector<Reference> all;
    for (const char* prefix : {".rela.", ".rel."}) {
      auto found = sections_.find(prefix + referring);
      if (found == sections_.end()) continue;
      const Section& section = *found->second;
      if (section.sh_type == llvm::ELF::SHT_RELA)
        for (const auto& entry : or_empty(file_.relas(section)))
          all.emplace_back(entry.r_offset, entry.getType(false), entry.r_addend, symbol_name(section, entry));
      else
        for (const auto& entry : or_empty(file_.rels(section)))
          all.emplace_back(entry.r_offset, entry.getType(false), 0, symbol_name(section, entry));
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // What lies at an offset of a constant bank that holds variables or their addresses: the variable, and how far behind its
  // begin. Where it lies depends on what else is in the program. The name is empty where that is not known.
  std::pair<std::string, int64_t> at(uint64_t bank, uint64_t offset) const {
    if (bank == kAddresses)
      for (const auto& [place, type, addend, name] : references_in("nv.constant4"))
        if (place == offset) return {name, addend};
    const auto home = sections_.find(".nv.constant3"), table = sections_.find(".symtab");
    if (bank != kVariables || home == sections_.end() || table == sections_.end()) return {};
    const auto all = or_empty(file_.sections());
    for (const auto& symbol : or_empty(file_.symbols(table->second))) {
      const bool here = symbol.st_shndx < all.size() && &all[symbol.st_shndx] == home->second && symbol.st_size != 0;
      if (here && symbol.st_value <= offset && offset - symbol.st_value < symbol.st_size)
        return {name_of(*table->second, symbol), static_cast<int64_t>(offset - symbol.st_value)};
    }
    return {};
  }

  // The initial value of a variable; empty where it has none.
  Content value_of(const std::string& variable) const {
    const auto home = sections_.find(".nv.global.init"), table = sections_.find(".symtab");
    if (home == sections_.end() || table == sections_.end()) return {};
    const auto all = or_empty(file_.sections());
    const Content values = content(home->first);
    for (const auto& symbol : or_empty(file_.symbols(table->second)))
      if (symbol.st_shndx < all.size() && &all[symbol.st_shndx] == home->second && name_of(*table->second, symbol) == variable &&
          symbol.st_value <= values.size() && symbol.st_size <= values.size() - symbol.st_value)
        return values.slice(symbol.st_value, symbol.st_size);
    return {};
  }

  MachineCodeFacts facts(const std::string& kernel, const std::vector<std::string>& called) const {
    MachineCodeFacts facts;
    facts.instructions = count_instructions(bytes_, kernel).value_or(0);
    for (const std::string& function : called) facts.instructions += count_instructions(bytes_, function).value_or(0);
    facts.registers = registers_of(kernel);
    facts.assembler = note(1);
    if (const llvm::StringRef version = llvm::StringRef(note(2)).rsplit(", V").second; !version.empty())
      facts.assembler += " " + version.str();
    facts.options = options();
    return facts;
  }

  // Without those that change no instruction.
  std::string options() const {
    llvm::SmallVector<llvm::StringRef> words;
    const std::string text = note(4);
    llvm::StringRef(text).split(words, ' ', -1, /*KeepEmpty=*/false);
    if (auto* size = llvm::find(words, "-m"); size != words.end()) words.erase(size, std::min(size + 2, words.end()));
    llvm::erase_if(words, [](llvm::StringRef word) { return word == "-v" || word == "-lineinfo"; });
    return llvm::join(words, " ");
  }

 private:
  Cubin(ByteSpan bytes, const Elf& file, const std::string& name) : bytes_(bytes), file_(file), name_(name) {}

  template <typename Entry>
  std::string symbol_name(const Section& relocations, const Entry& entry) const {
    const Section* table = or_empty<const Section*>(file_.getSection(relocations.sh_link));
    if (table == nullptr) return "";
    const auto* symbol = or_empty<const Elf::Elf_Sym*>(file_.getRelocationSymbol(entry, table));
    return symbol == nullptr ? "" : name_of(*table, *symbol);
  }
  std::string name_of(const Section& table, const Elf::Elf_Sym& symbol) const {
    return or_empty(symbol.getName(or_empty(file_.getStringTableForSymtab(table)))).str();
  }

  // The section is a list of attributes. Each has a byte for its form, one for what it is, and a size and so many bytes behind
  // it.
  std::optional<uint32_t> registers_of(const std::string& kernel) const {
    constexpr uint32_t kSizedRegisters = 0x2f04;
    Content rest = content(".nv.info");
    while (rest.size() >= 12 && (rest[0] == 4 || rest[0] == 3)) {
      const size_t size = rest[0] == 4 ? rest[2] | size_t{rest[3]} << 8 : 0;
      if ((word_at(rest, 0) & 0xffff) == kSizedRegisters && is_symbol(word_at(rest, 4), kernel)) return word_at(rest, 8);
      rest = rest.drop_front(std::min(4 + size, rest.size()));
    }
    return std::nullopt;
  }

  bool is_symbol(uint32_t index, const std::string& name) const {
    auto found = sections_.find(".symtab");
    if (found == sections_.end()) return false;
    const auto* symbol = or_empty<const Elf::Elf_Sym*>(file_.getSymbol(found->second, index));
    return symbol != nullptr && name_of(*found->second, *symbol) == name;
  }

  // A text of what made the cubin: 1 its name, 2 its version, 4 its options. Behind the note's own head lies a table of where
  // each begins in the texts that follow it.
  std::string note(size_t which) const {
    constexpr size_t kHead = 24, kTable = 24;
    const Content note = content(".note.nv.tkinfo");
    const size_t at = kHead + kTable + word_at(note, kHead + 4 + 4 * which);
    if (note.size() <= kHead + kTable || at >= note.size()) return "";
    const Content text = note.drop_front(at);
    return std::string(text.begin(), std::find(text.begin(), text.end(), 0));
  }

  ByteSpan bytes_;
  Elf file_;
  std::string name_;
  std::map<std::string, const Section*> sections_;
};

// A static symbol has a suffix in a program: clang's, or that which the plugin gives it where a replay must find it.
bool same_name(const std::string& in_program, const std::string& in_ir) {
  return in_program == in_ir || (!in_ir.empty() && in_program.starts_with(in_ir + "__"));
}

std::optional<uint64_t> first_difference(Content a, Content b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  return static_cast<uint64_t>(in_a - a.begin());
}

// An instruction with an operand in a constant bank has the bank's number in 5 bits, and in 16 bits before them the offset in it.
struct BankOperand {
  uint64_t bank, offset, others;  // all bits but the offset's
  bool is_number = false;         // the offset, as a number, which may be any
  static std::optional<BankOperand> of(Content instruction) {
    constexpr unsigned kForm = 9, kOffset = 38, kBank = 54;
    constexpr uint64_t kSecond = 5, kThird = 3;  // which of its operands it is
    constexpr uint64_t kOperation = 0xfff, kMoveNumber = 0x802, kLoad = 0xb82, kNoRegister = 0xff;
    uint64_t word = 0;
    std::memcpy(&word, instruction.data(), sizeof word);
    // Before a call of a function of the driver's, as vprintf, a register gets the offset of its address.
    if ((word & kOperation) == kMoveNumber) return BankOperand{kAddresses, word >> 32, word & 0xffffffff, true};
    if ((word & kOperation) == kLoad && (word >> 24 & 0xff) != kNoRegister) return std::nullopt;  // which a register says
    const uint64_t form = word >> kForm & 7, bank = word >> kBank & 0x1f;
    if ((form != kSecond && form != kThird) || (bank != kVariables && bank != kAddresses)) return std::nullopt;
    return BankOperand{bank, word >> kOffset & 0xffff, word & ~(uint64_t{0xffff} << kOffset)};
  }
};

// Texts, of assert and the like, are numbered through all of a program.
bool same_text(const Cubin& cubin_a, const std::string& a, const Cubin& cubin_b, const std::string& b) {
  const auto is_numbered = [](const std::string& name) {
    return name.starts_with("$str") || name.starts_with("_$_str") || name.starts_with("__unnamed_");
  };
  const Content value = cubin_a.value_of(a);
  return is_numbered(a) && is_numbered(b) && !value.empty() && value == cubin_b.value_of(b);
}

// Of the program, and of other code. Where a variable lies is of no matter, but which it is.
bool same_instruction(const Cubin& cubin_a, Content a, const Cubin& cubin_b, Content b) {
  const auto in_a = BankOperand::of(a), in_b = BankOperand::of(b);
  if (!in_a || !in_b || (in_a->is_number && a == b)) return a == b;
  if (in_a->others != in_b->others || a.drop_front(8) != b.drop_front(8)) return false;
  const auto [name_a, behind_a] = cubin_a.at(in_a->bank, in_a->offset);
  const auto [name_b, behind_b] = cubin_b.at(in_b->bank, in_b->offset);
  if (name_a.empty() || name_b.empty()) return name_a == name_b && a == b;
  return behind_a == behind_b && (same_name(name_a, name_b) || same_text(cubin_a, name_a, cubin_b, name_b));
}

std::optional<uint64_t> first_difference(const Cubin& cubin_a, Content a, const Cubin& cubin_b, Content b) {
  constexpr size_t kInstruction = 16;
  const size_t common = std::min(a.size(), b.size());
  for (size_t at = 0; at + kInstruction <= common; at += kInstruction) {
    if (!same_instruction(cubin_a, a.slice(at, kInstruction), cubin_b, b.slice(at, kInstruction))) return at;
  }
  if (a.size() == b.size()) return std::nullopt;
  return common;
}

std::optional<uint64_t> first_difference(const std::vector<Reference>& a, const std::vector<Reference>& b) {
  const auto same = [](const Reference& one, const Reference& other) {
    const auto& [offset, type, addend, name] = one;
    return std::tie(offset, type, addend) == std::tie(std::get<0>(other), std::get<1>(other), std::get<2>(other)) &&
           same_name(name, std::get<3>(other));
  };
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same);
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  constexpr uint64_t kNone = ~uint64_t{0};
  return std::min(in_a == a.end() ? kNone : std::get<0>(*in_a), in_b == b.end() ? kNone : std::get<0>(*in_b));
}

}  // namespace

Result<CodeComparison> compare_cubins(ByteSpan program, ByteSpan made, const std::string& kernel) {
  MNEME_ASSIGN(const Cubin theirs, Cubin::read(program, "the program's image"));
  MNEME_ASSIGN(const Cubin ours, Cubin::read(made, "the code that was made"));
  MNEME_ASSIGN(const std::string symbol, theirs.symbol_of(kernel));
  MNEME_TRY(ours.symbol_of(kernel).status());
  std::vector<std::string> called = ours.functions();
  std::erase(called, kernel);

  CodeComparison found;
  found.program = theirs.facts(symbol, called);
  found.made = ours.facts(kernel, called);
  const auto differs = [&](std::string where, std::optional<uint64_t> offset) {
    if (offset) found.where = std::move(where), found.offset = *offset;
    return offset.has_value();
  };
  const auto same_function = [&](const std::string& name_there, const std::string& name, const std::string& where) {
    return !differs(where, first_difference(theirs, theirs.code_of(name_there), ours, ours.code_of(name))) &&
           !differs("what " + where + " refers to",
                    first_difference(theirs.references_in("text." + name_there), ours.references_in("text." + name)));
  };
  found.same = same_function(symbol, kernel, "the code") &&
               !differs("the constants",
                        first_difference(theirs.content(".nv.constant2." + symbol), ours.content(".nv.constant2." + kernel))) &&
               llvm::all_of(called, [&](const std::string& name) { return same_function(name, name, "the code of " + name); });
  return found;
}

}  // namespace mneme::nvptx
