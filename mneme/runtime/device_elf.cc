// Fat binaries and the ELF files in them. The container's layout is not documented by the vendor; the fields used here were
// read off files that the toolkit's fatbinary makes: a header of 16 bytes (magic, version, header size, size of what follows),
// then entries, each a header of `header_bytes` and `data_bytes` of padded data.
#include <elf.h>

#include <cstring>

#include "mneme/runtime/segments.h"

namespace mneme {
namespace {

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const std::byte* fat_binary;
  const void* prelinked;
};
constexpr uint32_t kWrapperMagic = 0x466243B1;

struct FatHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t content_bytes;
};
constexpr uint32_t kFatMagic = 0xBA55ED50;

struct FatEntry {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t data_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressed_bytes;
};
constexpr uint16_t kEntryElf = 2;
constexpr uint64_t kFlagsCompressed = 0x2000 | 0x8000;  // LZ4, zstd
constexpr uint16_t kMachineCuda = 190;

template <typename T>
bool read_at(ByteSpan bytes, uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

bool inside(ByteSpan bytes, uint64_t offset, uint64_t size) { return offset <= bytes.size() && size <= bytes.size() - offset; }

// A cubin runs on its own major version, from its minor version on.
bool better(uint32_t candidate, uint32_t than, uint32_t wanted) {
  if (wanted != 0 && (candidate / 10 != wanted / 10 || candidate > wanted)) return false;
  return candidate > than;
}

class ElfView {
 public:
  static Result<ElfView> open(ByteSpan bytes, const std::string& name) {
    ElfView elf(bytes, name);
    if (!read_at(bytes, 0, elf.header_) || std::memcmp(elf.header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.header_.e_ident[EI_CLASS] != ELFCLASS64)
      return elf.corrupt(0, "no 64-bit ELF header");
    if (elf.header_.e_machine != kMachineCuda)
      return error(Code::incompatible, "{}: a device ELF for machine {}, {} (CUDA) expected", name, elf.header_.e_machine,
                   kMachineCuda);
    if (elf.header_.e_shentsize != sizeof(Elf64_Shdr)) return elf.corrupt(0x3a, "section headers of another size");
    return elf;
  }

  Result<Elf64_Shdr> section(uint64_t index) const {
    Elf64_Shdr out;
    if (index >= header_.e_shnum || !read_at(bytes_, header_.e_shoff + index * sizeof out, out))
      return corrupt(header_.e_shoff, fmt::format("there is no section {}", index));
    return out;
  }
  uint64_t section_count() const { return header_.e_shnum; }

  Result<ByteSpan> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return ByteSpan();
    if (!inside(bytes_, section.sh_offset, section.sh_size))
      return corrupt(section.sh_offset, "a section reaches beyond the file");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }

  Status corrupt(uint64_t offset, std::string_view what) const {
    return error(Code::corrupt, "{}: device ELF offset {}: {}", name_, offset, what);
  }

 private:
  ElfView(ByteSpan bytes, const std::string& name) : bytes_(bytes), name_(name) {}
  ByteSpan bytes_;
  const std::string& name_;
  Elf64_Ehdr header_;
};

// The bytes of a symbol, from the section that holds it.
Result<ByteSpan> symbol_bytes(const ElfView& elf, const Elf64_Sym& symbol) {
  MNEME_ASSIGN(Elf64_Shdr home, elf.section(symbol.st_shndx));
  MNEME_ASSIGN(ByteSpan content, elf.content(home));
  uint64_t offset = symbol.st_value - home.sh_addr;
  if (!inside(content, offset, symbol.st_size))
    return elf.corrupt(home.sh_offset, "a segment's symbol reaches beyond its section");
  return content.subspan(offset, symbol.st_size);
}

void add_segment(SegmentTable& table, const ElfView& elf, const Elf64_Sym& symbol, const std::string& name) {
  Result<ByteSpan> bytes = symbol_bytes(elf, symbol);
  if (!bytes.ok()) return table.damaged.push_back(bytes.status());
  Result<EmbeddedSegment> segment = parse_segment(*bytes, name);
  if (!segment.ok()) return table.damaged.push_back(segment.status());
  table.segments.push_back(std::move(*segment));
}

}  // namespace

Result<ByteSpan> fat_binary_of_wrapper(const void* wrapper) {
  Wrapper view;
  std::memcpy(&view, wrapper, sizeof view);
  if (view.magic != kWrapperMagic || view.fat_binary == nullptr)
    return error(Code::corrupt, "a fat binary was registered whose wrapper has magic {:#x}, {:#x} expected", view.magic,
                 kWrapperMagic);
  FatHeader header;
  std::memcpy(&header, view.fat_binary, sizeof header);
  if (header.magic != kFatMagic)
    return error(Code::corrupt, "a registered fat binary has magic {:#x}, {:#x} expected", header.magic, kFatMagic);
  return ByteSpan(view.fat_binary, header.header_bytes + header.content_bytes);
}

Result<DeviceElf> find_device_elf(ByteSpan fat_binary, uint32_t sm, const std::string& name) {
  auto corrupt = [&](uint64_t offset, std::string_view what) {
    return error(Code::corrupt, "{}: fat binary offset {}: {}", name, offset, what);
  };
  FatHeader header;
  if (!read_at(fat_binary, 0, header) || header.magic != kFatMagic) return corrupt(0, "no fat binary starts here (wrong magic)");
  if (!inside(fat_binary, header.header_bytes, header.content_bytes)) return corrupt(8, "its content reaches beyond its end");
  fat_binary = fat_binary.first(header.header_bytes + header.content_bytes);

  DeviceElf best;
  bool compressed = false;
  std::string present;
  for (uint64_t offset = header.header_bytes; offset < fat_binary.size();) {
    FatEntry entry;
    if (!read_at(fat_binary, offset, entry) || entry.header_bytes < sizeof entry)
      return corrupt(offset, "an entry's header is damaged");
    if (!inside(fat_binary, offset + entry.header_bytes, entry.data_bytes))
      return corrupt(offset, "an entry reaches beyond the end");
    present += fmt::format("{}{} for sm_{}", present.empty() ? "" : ", ", entry.kind == kEntryElf ? "code" : "PTX", entry.sm);
    if (entry.kind == kEntryElf && (entry.flags & kFlagsCompressed)) {
      compressed = true;
    } else if (entry.kind == kEntryElf && better(entry.sm, best.sm, sm)) {
      best = {fat_binary.subspan(offset + entry.header_bytes, entry.data_bytes), entry.sm};
    }
    offset += entry.header_bytes + entry.data_bytes;
  }
  if (best.sm != 0) return best;
  if (compressed)
    return error(Code::unsupported,
                 "{}: its device code is compressed: compile without --offload-compress (and -Xcuda-fatbinary --compress-all)",
                 name);
  return error(Code::unsupported, "{}: no device code{} (it holds {}): compile with --offload-arch", name,
               sm == 0 ? std::string() : fmt::format(" that sm_{} runs", sm), present.empty() ? "nothing" : present);
}

namespace {

// Calls visit(symbol, name) for each symbol that a section of the file defines.
template <typename Visit>
Status visit_symbols(const ElfView& elf, Visit visit) {
  for (uint64_t index = 0; index < elf.section_count(); ++index) {
    MNEME_ASSIGN(Elf64_Shdr section, elf.section(index));
    if (section.sh_type != SHT_SYMTAB) continue;
    MNEME_ASSIGN(ByteSpan symbols, elf.content(section));
    MNEME_ASSIGN(Elf64_Shdr strings_header, elf.section(section.sh_link));
    MNEME_ASSIGN(ByteSpan strings, elf.content(strings_header));
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      read_at(symbols, at, symbol);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE || symbol.st_name >= strings.size()) continue;
      const char* name = reinterpret_cast<const char*>(strings.data()) + symbol.st_name;
      visit(symbol, std::string_view(name, strnlen(name, strings.size() - symbol.st_name)));
    }
  }
  return {};
}

}  // namespace

Result<SegmentTable> read_segments(ByteSpan device_elf, const std::string& name) {
  MNEME_ASSIGN(ElfView elf, ElfView::open(device_elf, name));
  SegmentTable table;
  MNEME_TRY(visit_symbols(elf, [&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name.starts_with(MNEME_SEGMENT_PREFIX)) add_segment(table, elf, symbol, name);
  }));
  return table;
}

ByteSpan find_initial_value(ByteSpan device_elf, std::string_view variable) {
  std::string name(variable);
  Result<ElfView> elf = ElfView::open(device_elf, name);
  if (!elf.ok()) return {};
  ByteSpan value;
  [[maybe_unused]] Status status = visit_symbols(*elf, [&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name != variable) return;
    if (Result<ByteSpan> bytes = symbol_bytes(*elf, symbol); bytes.ok()) value = *bytes;
  });
  return value;
}

}  // namespace mneme
