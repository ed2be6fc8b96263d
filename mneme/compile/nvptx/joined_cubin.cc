// What is in a cubin beside ELF's own is not documented by the vendor; it was read off cubins that the toolkit's assembler makes.
// Whatever was not met there is refused.
#include "mneme/compile/nvptx/joined_cubin.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "mneme/compile/elf_file.h"

namespace mneme::nvptx {
namespace {

using llvm::ELF::Elf64_Ehdr;
using llvm::ELF::Elf64_Phdr;
using llvm::ELF::Elf64_Rela;
using llvm::ELF::Elf64_Shdr;
using llvm::ELF::Elf64_Sym;

// Sections that are the same for all kernels of a file.
constexpr std::array<std::string_view, 4> kSameForAll = {".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.compat",
                                                         ".nv.shared.reserved.0"};
// Sections of the file's own, which `alone` has as they are to be.
constexpr std::array<std::string_view, 4> kOfTheFile = {"", ".shstrtab", ".strtab", ".nv.callgraph"};
// Sections of a kernel, before its name.
constexpr std::array<std::string_view, 5> kOfAKernel = {".text.", ".nv.info.", ".nv.constant0.", ".nv.shared.", ".rela.text."};

template <typename T>
T read_at(ByteSpan bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void write_at(ByteVector& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename List, typename Value>
bool has(const List& list, const Value& value) {
  return std::ranges::find(list, value) != list.end();
}

struct Section {
  std::string name;
  Elf64_Shdr header;
  ByteSpan content;  // empty where it has no place in the file
};

class Cubin {
 public:
  static Result<Cubin> read(ByteSpan bytes, const std::string& what) {
    auto file = Elf::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!file) return error(Code::corrupt, "{}: {}", what, llvm::toString(file.takeError()));
    if (!file->getHeader().checkMagic()) return error(Code::corrupt, "{}: it is no ELF file", what);
    auto sections = file->sections();
    if (!sections) return error(Code::corrupt, "{}: {}", what, llvm::toString(sections.takeError()));
    Cubin cubin;
    cubin.header = read_at<Elf64_Ehdr>(bytes, 0);
    for (const auto& section : *sections) {
      auto name = file->getSectionName(section);
      auto content = section.sh_type == llvm::ELF::SHT_NOBITS ? llvm::ArrayRef<uint8_t>() : file->getSectionContents(section);
      if (!name || !content)
        return error(Code::corrupt, "{}: {}", what,
                     llvm::toString(llvm::joinErrors(name ? llvm::Error::success() : name.takeError(),
                                                     content ? llvm::Error::success() : content.takeError())));
      const size_t place = static_cast<size_t>(reinterpret_cast<const std::byte*>(&section) - bytes.data());
      cubin.sections.push_back(
          {name->str(), read_at<Elf64_Shdr>(bytes, place), std::as_bytes(std::span(content->data(), content->size()))});
    }
    for (uint16_t i = 0; i < cubin.header.e_phnum; ++i)
      cubin.segments.push_back(read_at<Elf64_Phdr>(bytes, cubin.header.e_phoff + i * sizeof(Elf64_Phdr)));
    return cubin;
  }

  const Section* find(std::string_view name) const {
    const auto found = std::ranges::find(sections, name, &Section::name);
    return found == sections.end() ? nullptr : &*found;
  }

  // The names of all symbols, by index; of one without, as of a kernel's shared memory, what tells it by its section.
  std::vector<std::string> symbols() const {
    std::vector<std::string> found;
    const Section *table = find(".symtab"), *names = find(".strtab");
    if (!table || !names) return found;
    const std::string_view text(reinterpret_cast<const char*>(names->content.data()), names->content.size());
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->content.size(); at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(table->content, at);
      const std::string_view rest = text.substr(std::min<size_t>(symbol.st_name, text.size()));
      found.emplace_back(rest.substr(0, rest.find('\0')));
      if (found.back().empty() && symbol.st_shndx < sections.size())
        found.back() = "without a name, in " + sections[symbol.st_shndx].name;
    }
    return found;
  }

  Elf64_Ehdr header{};
  std::vector<Section> sections;
  std::vector<Elf64_Phdr> segments;
};

Status unknown(std::string_view what) {
  return error(Code::unsupported, "taking a kernel out of a cubin: it is not known how {} would be alone", what);
}

// Calls visit(form, attribute, place) for each attribute of a .nv.info section, where `place` is that of its value of `size`
// bytes, behind its four bytes of head. False: the section ends within one.
template <typename Visit>
bool for_each_attribute(ByteSpan section, Visit visit) {
  constexpr uint8_t kSized = 4;
  size_t at = 0;
  while (at + 4 <= section.size()) {
    const auto form = read_at<uint8_t>(section, at);
    const size_t size = form == kSized ? read_at<uint16_t>(section, at + 2) : 0;
    if (at + 4 + size > section.size()) return false;
    visit(form, read_at<uint8_t>(section, at + 1), at + 4, size);
    at += 4 + size;
  }
  return at == section.size();
}

class KernelOut {
 public:
  KernelOut(const Cubin& joined, const std::string& joined_name, const Cubin& alone, const std::string& name)
      : joined_(joined), joined_name_(joined_name), alone_(alone), name_(name) {}

  Result<ByteVector> take() {
    MNEME_TRY(check_sections());
    MNEME_TRY(find_symbols());
    for (const Section& section : alone_.sections) {
      MNEME_ASSIGN(ByteVector content, content_of(section));
      contents_.push_back(std::move(content));
    }
    return lay_out();
  }

 private:
  // The kernel has the sections that the other has, and no section of the joined file is of an unknown kind.
  Status check_sections() const {
    for (const Section& section : alone_.sections) {
      if (has(kOfTheFile, section.name) || has(kRebuilt, section.name)) continue;
      if (!counterpart(section.name)) return unknown(section.name);
    }
    for (const Section& section : joined_.sections) {
      const bool of_a_kernel =
          std::ranges::any_of(kOfAKernel, [&](std::string_view kind) { return section.name.starts_with(kind); });
      if (!of_a_kernel && !alone_.find(section.name)) return unknown(section.name);
    }
    const Section *calls = joined_.find(".nv.callgraph"), *own = alone_.find(".nv.callgraph");
    if (calls && own && !std::ranges::equal(calls->content, own->content)) return unknown(".nv.callgraph");
    return {};
  }

  // What is in the place of a section of `alone` in the joined cubin; null: nothing, or it is of no known kind.
  const Section* counterpart(std::string_view section) const {
    if (has(kSameForAll, section)) return joined_.find(section);
    for (std::string_view kind : kOfAKernel)
      if (section == std::string(kind) + name_) return joined_.find(std::string(kind) + joined_name_);
    return nullptr;
  }

  // Each symbol of `alone` has one in the joined cubin, whose name may end with the kernel's.
  Status find_symbols() {
    const std::vector<std::string> joined = joined_.symbols(), own = alone_.symbols();
    for (uint32_t i = 1; i < own.size(); ++i) {
      std::string wanted = own[i];
      if (wanted == name_ || wanted.ends_with("." + name_))
        wanted.replace(wanted.size() - name_.size(), name_.size(), joined_name_);
      const auto found = std::ranges::find(joined, wanted);
      if (found == joined.end()) return unknown("the symbol " + own[i]);
      const auto index = static_cast<uint32_t>(found - joined.begin());
      symbols_[index] = i;
      if (own[i] == name_) kernel_ = index;
    }
    return kernel_ == 0 ? unknown("the symbol " + name_) : Status();
  }

  Result<ByteVector> content_of(const Section& section) {
    if (has(kOfTheFile, section.name)) return copy(section.content);
    if (section.name == ".symtab") return symbol_table(section);
    if (section.name == ".nv.info") return info_of_all();
    if (section.name == ".debug_frame") return frame();
    if (section.name == ".rela.debug_frame") return frame_reference();
    const Section& from = *counterpart(section.name);
    if (section.name == ".nv.info." + name_) return info_of_kernel(from.content);
    if (section.name == ".rela.text." + name_) return references(from.content);
    return copy(from.content);
  }

  static ByteVector copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

  // As of `alone`, but for sizes and places.
  Result<ByteVector> symbol_table(const Section& section) const {
    ByteVector table = copy(section.content);
    const ByteSpan joined = joined_.find(".symtab")->content;
    for (const auto& [from, to] : symbols_) {
      auto symbol = read_at<Elf64_Sym>(table, to * sizeof(Elf64_Sym));
      const auto joined_symbol = read_at<Elf64_Sym>(joined, from * sizeof(Elf64_Sym));
      symbol.st_value = joined_symbol.st_value;
      symbol.st_size = joined_symbol.st_size;
      write_at(table, to * sizeof(Elf64_Sym), symbol);
    }
    return table;
  }

  Result<ByteVector> references(ByteSpan content) const {
    ByteVector own = copy(content);
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= own.size(); at += sizeof(Elf64_Rela)) {
      auto reference = read_at<Elf64_Rela>(own, at);
      const auto symbol = symbols_.find(reference.getSymbol());
      if (symbol == symbols_.end()) return unknown(".rela.text." + name_);
      reference.setSymbolAndType(symbol->second, reference.getType());
      write_at(own, at, reference);
    }
    return own;
  }

  // Of each function its registers, its frame and its stack, each with the symbol and a number.
  Result<ByteVector> info_of_all() const {
    const Section* section = joined_.find(".nv.info");
    if (!section) return unknown(".nv.info");
    constexpr std::array<uint8_t, 3> kKnown = {0x2f, 0x11, 0x12};
    ByteVector own;
    bool known = true;
    const bool whole = for_each_attribute(section->content, [&](uint8_t form, uint8_t attribute, size_t at, size_t size) {
      known = known && form == 4 && size == 8 && has(kKnown, attribute);
      if (!known || read_at<uint32_t>(section->content, at) != kernel_) return;
      ByteVector copied = copy(section->content.subspan(at - 4, 12));
      write_at(copied, 4, symbols_.at(kernel_));
      own.insert(own.end(), copied.begin(), copied.end());
    });
    if (!whole || !known) return unknown(".nv.info");
    return own;
  }

  // Facts of a kernel, of which one names a symbol: where the parameters are in the constant bank.
  Result<ByteVector> info_of_kernel(ByteSpan content) const {
    constexpr uint8_t kParameters = 0x0a;
    // The version, the parameters and their size, registers and threads at most, the threads required, exits, and how the
    // code uses warps and barriers.
    constexpr std::array<uint8_t, 22> kKnown = {0x37, 0x17, 0x50, 0x1b, 0x5f, 0x1c, kParameters, 0x19, 0x36, 0x05, 0x10,
                                                0x31, 0x28, 0x29, 0x4c, 0x1e, 0x38, 0x39,        0x41, 0x55, 0x44, 0x2b};
    ByteVector own = copy(content);
    uint8_t other = 0;
    const bool whole = for_each_attribute(content, [&](uint8_t, uint8_t attribute, size_t at, size_t) {
      if (!has(kKnown, attribute)) other = attribute;
      if (attribute != kParameters) return;
      const auto symbol = symbols_.find(read_at<uint32_t>(content, at));
      if (symbol == symbols_.end())
        other = attribute;
      else
        write_at(own, at, symbol->second);
    });
    if (!whole || other != 0) return unknown(fmt::format("attribute {:#x} of .nv.info.{}", other, name_));
    return own;
  }

  // Each kernel has a part of its own in .debug_frame: an entry for what is common, and one for the function, which says where
  // the other is. The reference to the kernel is in the second.
  Result<ByteVector> frame() {
    const Section *frames = joined_.find(".debug_frame"), *references = joined_.find(".rela.debug_frame");
    if (!frames || !references) return unknown(".debug_frame");
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= references->content.size(); at += sizeof(Elf64_Rela)) {
      const auto reference = read_at<Elf64_Rela>(references->content, at);
      if (reference.getSymbol() == kernel_) reference_ = reference;
    }
    if (!reference_) return unknown(".rela.debug_frame");
    constexpr size_t kLengthBytes = 12;  // a mark of 4 bytes for wide entries, then the length of what follows
    size_t begin = 0, common = 0;
    while (begin + kLengthBytes + 8 <= frames->content.size()) {
      if (read_at<uint32_t>(frames->content, begin) != 0xffffffff) return unknown(".debug_frame");
      const size_t end = begin + kLengthBytes + read_at<uint64_t>(frames->content, begin + 4);
      if (end <= begin || end > frames->content.size()) return unknown(".debug_frame");
      const auto points_to = read_at<uint64_t>(frames->content, begin + kLengthBytes);
      if (points_to == ~uint64_t{0}) {
        common = begin;
      } else if (reference_->r_offset >= begin && reference_->r_offset < end) {
        if (points_to != common) return unknown(".debug_frame");
        ByteVector own = copy(frames->content.subspan(common, end - common));
        write_at(own, begin - common + kLengthBytes, uint64_t{0});
        reference_->r_offset -= common;
        return own;
      }
      begin = end;
    }
    return unknown(".debug_frame");
  }

  Result<ByteVector> frame_reference() {
    const Section* of_alone = alone_.find(".rela.debug_frame");
    if (!reference_ || of_alone->content.size() != sizeof(Elf64_Rela)) return unknown(".rela.debug_frame");
    reference_->setSymbolAndType(symbols_.at(kernel_), reference_->getType());
    ByteVector own(sizeof(Elf64_Rela));
    write_at(own, 0, *reference_);
    return own;
  }

  // Sections stand one behind the other, then their headers, then those of the segments.
  ByteVector lay_out() const {
    std::vector<Elf64_Shdr> headers;
    uint64_t end = 0;
    for (size_t i = 0; i < contents_.size(); ++i) {
      Elf64_Shdr header = alone_.sections[i].header;
      // Behind the tables of names there is room that nothing explains; these are as they are in `alone`.
      if (!has(kOfTheFile, alone_.sections[i].name) || alone_.sections[i].name == ".nv.callgraph") {
        const uint64_t alignment = std::max<uint64_t>(header.sh_addralign, 1);
        header.sh_offset = (end + alignment - 1) / alignment * alignment;
        header.sh_size = contents_[i].size();
        if (header.sh_type == llvm::ELF::SHT_NOBITS) header.sh_size = counterpart(alone_.sections[i].name)->header.sh_size;
      }
      end = header.sh_offset + (header.sh_type == llvm::ELF::SHT_NOBITS ? 0 : header.sh_size);
      headers.push_back(header);
    }
    Elf64_Ehdr file = alone_.header;
    file.e_shoff = (end + 7) / 8 * 8;
    file.e_phoff = file.e_shoff + headers.size() * sizeof(Elf64_Shdr);
    ByteVector bytes(file.e_phoff + alone_.segments.size() * sizeof(Elf64_Phdr));
    write_at(bytes, 0, file);
    for (size_t i = 0; i < headers.size(); ++i) {
      std::ranges::copy(contents_[i], bytes.begin() + static_cast<ptrdiff_t>(headers[i].sh_offset));
      write_at(bytes, file.e_shoff + i * sizeof(Elf64_Shdr), headers[i]);
    }
    for (size_t i = 0; i < alone_.segments.size(); ++i)
      write_at(bytes, file.e_phoff + i * sizeof(Elf64_Phdr), segment(alone_.segments[i], headers, file.e_phoff));
    return bytes;
  }

  // A segment is that of the headers, or one section.
  Elf64_Phdr segment(Elf64_Phdr segment, const std::vector<Elf64_Shdr>& headers, uint64_t place_of_headers) const {
    if (segment.p_offset == alone_.header.e_phoff) {
      segment.p_offset = place_of_headers;
      return segment;
    }
    for (size_t i = 0; i < headers.size(); ++i) {
      const Elf64_Shdr& before = alone_.sections[i].header;
      const bool in_file = before.sh_type != llvm::ELF::SHT_NOBITS;
      if (before.sh_offset != segment.p_offset || before.sh_size != segment.p_memsz || in_file != (segment.p_filesz != 0))
        continue;
      segment.p_offset = headers[i].sh_offset;
      segment.p_memsz = headers[i].sh_size;
      segment.p_filesz = in_file ? headers[i].sh_size : 0;
    }
    return segment;
  }

  static constexpr std::array<std::string_view, 4> kRebuilt = {".symtab", ".nv.info", ".debug_frame", ".rela.debug_frame"};

  const Cubin& joined_;
  const std::string& joined_name_;
  const Cubin& alone_;
  const std::string& name_;
  std::map<uint32_t, uint32_t> symbols_;  // of the joined cubin, and which they are in `alone`
  uint32_t kernel_ = 0;                   // its symbol in the joined cubin
  std::optional<Elf64_Rela> reference_;   // of .rela.debug_frame
  std::vector<ByteVector> contents_;      // by section of `alone`
};

}  // namespace

Result<ByteVector> take_kernel(ByteSpan joined, const std::string& joined_name, ByteSpan alone, const std::string& name) {
  MNEME_ASSIGN(const Cubin from, Cubin::read(joined, "a cubin of several kernels"));
  MNEME_ASSIGN(const Cubin like, Cubin::read(alone, "a cubin of one kernel"));
  return KernelOut(from, joined_name, like, name).take();
}

}  // namespace mneme::nvptx
