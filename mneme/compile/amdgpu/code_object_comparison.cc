#include "mneme/compile/amdgpu/code_object_comparison.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "mneme/compile/amdgpu/code_object.h"
#include "mneme/compile/elf_file.h"
#include "mneme/compile/machine_instructions.h"

namespace mneme::amdgpu {
namespace {

using Section = Elf::Elf_Shdr;
using Content = llvm::ArrayRef<uint8_t>;

struct Symbol {
  std::string name;
  uint64_t address = 0, size = 0;
  bool is_function = false;
};

// What an address points to: a symbol, or what is said of one in the table of addresses (.got), and how far behind its begin.
struct Place {
  std::string symbol;  // empty: nothing there has a name
  int64_t offset = 0;
  uint64_t address = 0;
};

class Object {
 public:
  // `name` is for messages.
  static Result<Object> read(ByteSpan bytes, const std::string& name) {
    auto file = Elf::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!file) return error(Code::corrupt, "{}: {}", name, llvm::toString(file.takeError()));
    auto described = read_code_object(bytes);
    if (!described.ok()) return described.status().with_context(name);
    auto set = instruction_set(*described);
    if (!set.ok()) return set.status().with_context(name);
    Object object(*file, name, std::move(*described), std::move(*set));
    for (const Section& section : or_empty(file->sections())) object.sections_.push_back(&section);
    for (const Section* section : object.sections_) object.read_symbols(*section);
    for (const Section* section : object.sections_) object.read_relocations(*section);
    return object;
  }

  const Symbol* find(const std::string& name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }
  // Names of the functions, kernels too, in their order.
  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const auto& [name, symbol] : symbols_)
      if (symbol.is_function) names.push_back(name);
    return names;
  }

  // The symbol of a function here: its name, or the only one with code that begins with it.
  Result<std::string> symbol_of(const std::string& function) const {
    if (const Symbol* known = find(function); known != nullptr && known->is_function) return function;
    std::vector<std::string> alike = functions();
    std::erase_if(alike, [&](const std::string& name) {
      return !name.starts_with(function) || llvm::all_of(bytes_at(*find(name)), [](uint8_t byte) { return byte == 0; });
    });
    if (alike.size() == 1) return alike.front();
    return error(Code::not_found, "{}: it has no kernel {}", name_, function);
  }

  Content bytes_at(const Symbol& symbol) const {
    const Content rest = from(symbol.address);
    return rest.take_front(std::min<uint64_t>(symbol.size, rest.size()));
  }
  // What stands from an address on to the end of its section.
  Content from(uint64_t address) const {
    const Section* home = section_at(address);
    if (home == nullptr || home->sh_type == llvm::ELF::SHT_NOBITS) return {};
    const Content content = or_empty(file_.getSectionContents(*home));
    return content.drop_front(std::min<uint64_t>(address - home->sh_addr, content.size()));
  }
  bool is_constant(uint64_t address) const {
    const Section* home = section_at(address);
    return home != nullptr && (home->sh_flags & (llvm::ELF::SHF_WRITE | llvm::ELF::SHF_EXECINSTR)) == 0;
  }

  Place place_of(uint64_t address) const {
    if (const auto entry = relocations_.find(address); entry != relocations_.end()) {
      const auto& [symbol, addend] = entry->second;
      return symbol.empty() ? named(static_cast<uint64_t>(addend)) : Place{symbol, addend, address};
    }
    return named(address);
  }

  // The first address behind this one at which something else begins that has a name.
  uint64_t next_symbol(uint64_t address) const {
    uint64_t next = UINT64_MAX;
    for (const auto& [name, symbol] : symbols_)
      if (symbol.address > address) next = std::min(next, symbol.address);
    return next;
  }

  Result<std::vector<MachineInstruction>> instructions_of(const Symbol& function) const {
    const Content code = bytes_at(function);
    auto read = read_instructions({reinterpret_cast<const std::byte*>(code.data()), code.size()}, function.address, set_);
    return read.ok() ? std::move(read) : read.status().with_context(name_ + ": " + function.name);
  }

  MachineCodeFacts facts(const std::string& kernel) const {
    MachineCodeFacts facts;
    if (const KernelEntry* entry = described_.find(kernel)) facts.registers = entry->vector_registers;
    for (const Section* section : sections_) {
      if (or_empty(file_.getSectionName(*section)) != ".comment") continue;
      llvm::StringRef text = llvm::toStringRef(or_empty(file_.getSectionContents(*section)));
      text = text.substr(text.find("Linker: ")).substr(strlen("Linker: "));
      facts.assembler = text.take_until([](char c) { return c == '(' || c == 0; }).rtrim().str();
    }
    return facts;
  }

 private:
  Object(const Elf& file, const std::string& name, CodeObject described, InstructionSet set)
      : file_(file), name_(name), described_(std::move(described)), set_(std::move(set)) {}

  void read_symbols(const Section& table) {
    if (table.sh_type != llvm::ELF::SHT_SYMTAB) return;
    const llvm::StringRef names = or_empty(file_.getStringTableForSymtab(table));
    for (const auto& symbol : or_empty(file_.symbols(&table))) {
      const bool has_memory = symbol.getType() == llvm::ELF::STT_FUNC || symbol.getType() == llvm::ELF::STT_OBJECT;
      if (!has_memory || symbol.st_shndx == llvm::ELF::SHN_UNDEF || symbol.st_shndx >= llvm::ELF::SHN_LORESERVE) continue;
      const Section* home = or_empty<const Section*>(file_.getSection(symbol.st_shndx));
      if (home == nullptr || (home->sh_flags & llvm::ELF::SHF_ALLOC) == 0) continue;
      const std::string name = or_empty(symbol.getName(names)).str();
      symbols_[name] = {name, symbol.st_value, symbol.st_size, symbol.getType() == llvm::ELF::STT_FUNC};
    }
  }

  void read_relocations(const Section& table) {
    if (table.sh_type != llvm::ELF::SHT_RELA) return;
    const Section* symbols = or_empty<const Section*>(file_.getSection(table.sh_link));
    for (const auto& entry : or_empty(file_.relas(table))) {
      const auto* symbol =
          symbols == nullptr ? nullptr : or_empty<const Elf::Elf_Sym*>(file_.getRelocationSymbol(entry, symbols));
      const std::string name =
          symbol == nullptr ? "" : or_empty(symbol->getName(or_empty(file_.getStringTableForSymtab(*symbols)))).str();
      relocations_[entry.r_offset] = {name, entry.r_addend};
    }
  }

  // Null: the address is in none that is loaded.
  const Section* section_at(uint64_t address) const {
    const auto found = llvm::find_if(sections_, [&](const Section* section) {
      return (section->sh_flags & llvm::ELF::SHF_ALLOC) != 0 && address >= section->sh_addr &&
             address - section->sh_addr < section->sh_size;
    });
    return found == sections_.end() ? nullptr : *found;
  }

  Place named(uint64_t address) const {
    for (const auto& [name, symbol] : symbols_)
      if (address >= symbol.address && (address == symbol.address || address - symbol.address < symbol.size))
        return {name, static_cast<int64_t>(address - symbol.address), address};
    return {"", 0, address};
  }

  Elf file_;
  std::string name_;
  CodeObject described_;
  InstructionSet set_;
  std::vector<const Section*> sections_;
  std::map<std::string, Symbol> symbols_;
  std::map<uint64_t, std::pair<std::string, int64_t>> relocations_;  // by the address that they fill in
};

// An instruction, and where the address that it completes points to.
struct Step {
  MachineInstruction instruction;
  std::optional<uint64_t> target;
  bool is_part = false;  // it has a part of an address, so that its number is of no matter
};

std::vector<llvm::StringRef> words_of(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef& word : words) word.consume_back(",");
  return {words.begin(), words.end()};
}

// "s4" and "s5" of "s[4:5]".
std::pair<std::string, std::string> halves_of(llvm::StringRef pair) {
  const auto [name, rest] = pair.split('[');
  const auto [first, last] = rest.split(':');
  if (rest.empty()) return {pair.str() + "_lo", pair.str() + "_hi"};
  return {name.str() + first.str(), name.str() + last.rtrim(']').str()};
}

// Whether a pair or more of registers ("s[4:7]", "vcc"), or the one of that name, has this one in it.
bool has_register(llvm::StringRef registers, llvm::StringRef one) {
  const auto split = [](llvm::StringRef name) {
    const llvm::StringRef letters = name.rtrim("0123456789");
    uint32_t number = 0;
    (void)name.substr(letters.size()).getAsInteger(10, number);
    return std::pair(letters, number);
  };
  if (registers == one) return true;
  const auto [first, last] = halves_of(registers);
  const auto [from, at, to] = std::tuple(split(first), split(one), split(last));
  return one == first || one == last || (from.first == at.first && from.second <= at.second && at.second <= to.second);
}

// Follows the addresses that code computes: s_getpc_b64 gives the address of the next instruction, to whose halves a distance is
// added. LLVM leaves nothing between that changes them, but for the sign (s_sext_i32_i16) that gfx12 has no place for. What is
// added to the registers otherwise, or behind that, is a number like others.
class Addresses {
 public:
  // The last of the steps, of which the others have been seen.
  void see(std::vector<Step>& steps) {
    const std::vector<llvm::StringRef> words = words_of(steps.back().instruction.text);
    if (words.size() < 2 || words[0] == "s_sext_i32_i16" || complete(steps, words)) return;
    std::erase_if(begun_, [&](const Begun& address) {
      return has_register(words[1], address.low) || has_register(words[1], address.high);
    });
    if (words[0] != "s_getpc_b64" && words[0] != "s_get_pc_i64") return;
    const auto [low, high] = halves_of(words[1]);
    begun_.push_back({low, high, steps.back().instruction.address + steps.back().instruction.size, std::nullopt, 0});
  }

 private:
  struct Begun {
    std::string low, high;  // the registers of its halves
    uint64_t pc = 0;
    std::optional<size_t> addition;  // the step that adds to its lower half
    uint32_t distance = 0;           // what that adds
  };
  // "0x1c", or "lit(0x0)" where an instruction has a whole word for a number that would need none.
  static std::optional<uint32_t> number_of(llvm::StringRef word) {
    if (word.consume_front("lit(")) word.consume_back(")");
    int64_t number = 0;
    if (word.getAsInteger(0, number)) return std::nullopt;
    return static_cast<uint32_t>(number);
  }

  // Whether the step is an addition to an address.
  bool complete(std::vector<Step>& steps, const std::vector<llvm::StringRef>& words) {
    const std::optional<uint32_t> number = words.size() == 4 && words[2] == words[1] ? number_of(words[3]) : std::nullopt;
    if (!number) return false;
    const bool is_lower = words[0] == "s_add_u32" || words[0] == "s_add_co_u32";
    if (!is_lower && words[0] != "s_addc_u32" && words[0] != "s_add_co_ci_u32") return false;
    const auto found = llvm::find_if(begun_, [&](const Begun& address) {
      return words[1] == (is_lower ? address.low : address.high) && address.addition.has_value() != is_lower;
    });
    if (found == begun_.end()) return false;
    if (is_lower) {
      found->addition = steps.size() - 1, found->distance = *number;
      return true;
    }
    Step& step = steps.back();
    step.target = found->pc + (uint64_t{*number} << 32) + found->distance;
    step.is_part = steps[*found->addition].is_part = true;
    begun_.erase(found);
    return true;
  }

  std::vector<Begun> begun_;
};

Result<std::vector<Step>> steps_of(const Object& object, const std::string& function) {
  MNEME_ASSIGN(std::vector<MachineInstruction> instructions, object.instructions_of(*object.find(function)));
  std::vector<Step> steps;
  Addresses addresses;
  for (MachineInstruction& instruction : instructions) {
    steps.push_back({std::move(instruction), std::nullopt, false});
    addresses.see(steps);
  }
  return steps;
}

class Comparison {
 public:
  Comparison(const Object& program, const Object& made) : program_(program), made_(made) {}

  // The offset of the first instruction that differs, and how many there are in each.
  struct Difference {
    std::optional<uint64_t> offset;
    uint64_t in_program = 0, in_made = 0;
  };
  Result<Difference> of_function(const std::string& name_there, const std::string& name) {
    MNEME_ASSIGN(const std::vector<Step> theirs, steps_of(program_, name_there));
    MNEME_ASSIGN(const std::vector<Step> ours, steps_of(made_, name));
    for (const Step& step : ours)
      if (step.target) targets_.insert(*step.target);
    Difference difference{std::nullopt, theirs.size(), ours.size()};
    const auto [a, b] = std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end(),
                                      [&](const Step& one, const Step& other) { return same(one, other); });
    if (a != theirs.end())
      difference.offset = a->instruction.address - theirs.front().instruction.address;
    else if (b != ours.end())
      difference.offset = b->instruction.address - ours.front().instruction.address;
    return difference;
  }

 private:
  bool same(const Step& theirs, const Step& ours) const {
    if (theirs.is_part != ours.is_part || theirs.target.has_value() != ours.target.has_value()) return false;
    if (!ours.is_part) return theirs.instruction.text == ours.instruction.text;
    const auto without_number = [](const std::string& text) { return llvm::StringRef(text).rsplit(' ').first; };
    return without_number(theirs.instruction.text) == without_number(ours.instruction.text) &&
           (!ours.target || same_place(program_.place_of(*theirs.target), made_.place_of(*ours.target)));
  }

  bool same_place(const Place& theirs, const Place& ours) const {
    if (!theirs.symbol.empty() && !ours.symbol.empty())
      return theirs.offset == ours.offset && same_name(theirs.symbol, ours.symbol);
    return made_.is_constant(ours.address) && program_.is_constant(theirs.address) && same_content(theirs, ours);
  }

  // A static symbol has a suffix in a program: clang's, or that which the plugin gives it where a replay must find it.
  static bool same_name(const std::string& in_program, const std::string& in_ir) {
    return in_program == in_ir || in_program.starts_with(in_ir + ".") || in_program.starts_with(in_ir + "__");
  }

  // As far as something else that is named, or that the code points to, begins in what was made.
  bool same_content(const Place& theirs, const Place& ours) const {
    constexpr size_t kMostPadding = 15;
    uint64_t end = made_.next_symbol(ours.address);
    if (const auto next = targets_.upper_bound(ours.address); next != targets_.end()) end = std::min(end, *next);
    Content value = made_.from(ours.address);
    value = value.take_front(std::min<uint64_t>(value.size(), end - ours.address));
    for (size_t padding = 0; padding < kMostPadding && value.size() > 1 && value.back() == 0; ++padding)
      value = value.drop_back();
    const Content there = program_.from(theirs.address);
    return !value.empty() && there.size() >= value.size() && there.take_front(value.size()) == value;
  }

  const Object &program_, &made_;
  std::set<uint64_t> targets_;  // of what was made
};

// Of a kernel, without the distance from it to the code.
ByteVector descriptor_of(const Object& object, const std::string& kernel) {
  constexpr size_t kEntry = 16;
  const Symbol* symbol = object.find(kernel + ".kd");
  if (symbol == nullptr) return {};
  const Content bytes = object.bytes_at(*symbol);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  ByteVector descriptor(begin, begin + bytes.size());
  if (descriptor.size() >= kEntry + sizeof(uint64_t)) std::fill_n(descriptor.begin() + kEntry, sizeof(uint64_t), std::byte());
  return descriptor;
}

}  // namespace

Result<CodeComparison> compare_code_objects(ByteSpan program, ByteSpan made, const std::string& kernel) {
  MNEME_ASSIGN(const Object theirs, Object::read(program, "the program's image"));
  MNEME_ASSIGN(const Object ours, Object::read(made, "the code that was made"));
  MNEME_ASSIGN(const std::string symbol, theirs.symbol_of(kernel));
  MNEME_TRY(ours.symbol_of(kernel).status());
  CodeComparison found;
  found.program = theirs.facts(symbol);
  found.made = ours.facts(kernel);
  const auto differs = [&](const std::string& where, uint64_t offset) {
    if (found.where.empty()) found.where = where, found.offset = offset;
  };
  Comparison comparison(theirs, ours);
  const auto compare = [&](const std::string& name_there, const std::string& name, const std::string& where) -> Status {
    MNEME_ASSIGN(const Comparison::Difference difference, comparison.of_function(name_there, name));
    if (difference.offset) differs(where, *difference.offset);
    found.program.instructions += difference.in_program;
    found.made.instructions += difference.in_made;
    return {};
  };
  MNEME_TRY(compare(symbol, kernel, "the code"));
  const ByteVector descriptor = descriptor_of(theirs, symbol), own = descriptor_of(ours, kernel);
  const auto [in_theirs, in_own] = std::mismatch(descriptor.begin(), descriptor.end(), own.begin(), own.end());
  if (in_theirs != descriptor.end() || in_own != own.end())
    differs("the descriptor", static_cast<uint64_t>(in_theirs - descriptor.begin()));
  for (const std::string& name : ours.functions()) {
    if (name == kernel) continue;
    if (const auto there = theirs.symbol_of(name); there.ok())
      MNEME_TRY(compare(*there, name, "the code of " + name));
    else
      differs("the code of " + name, 0);
  }
  found.same = found.where.empty();
  return found;
}

}  // namespace mneme::amdgpu
