// Fat binaries. The container's layout is not documented by the vendor; the fields used here were read off files that the
// toolkit's fatbinary makes: a header of 16 bytes (magic, version, header size, size of what follows), then entries, each a
// header of `header_bytes` and `data_bytes` of padded data.
#include <lz4.h>

#include <algorithm>

#include "mneme/base/compress.h"
#include "mneme/runtime/device_code.h"
#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/image_wrapper.h"

namespace mneme {
namespace {

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
constexpr uint16_t kEntryPtx = 1, kEntryElf = 2;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;
constexpr uint64_t kFlagArchitecture = 0x100000, kFlagFamily = 0x200000;  // sm_90a, sm_100f

// How narrow the devices are that code is for: those of its major version from its minor version on, those of them that are of
// its family, or its very own. PTX runs on later major versions too, unless it is for a family.
enum class Scope { later, family, own };
Scope scope_of(const FatEntry& entry) {
  return entry.flags & kFlagArchitecture ? Scope::own : entry.flags & kFlagFamily ? Scope::family : Scope::later;
}

// `wanted` is 0 for any.
bool runs_on(const FatEntry& entry, uint32_t wanted) {
  if (wanted == 0 || entry.sm == wanted) return true;
  if (scope_of(entry) == Scope::own || entry.sm > wanted) return false;
  const bool is_text = entry.kind == kEntryPtx && scope_of(entry) == Scope::later;
  return is_text || entry.sm / 10 == wanted / 10;
}

// The driver takes what is nearest to the device, and of that the most specific.
bool better(const FatEntry& candidate, const FatEntry* than) {
  return !than || std::pair(candidate.sm, scope_of(candidate)) > std::pair(than->sm, scope_of(*than));
}

bool starts_with(ByteSpan bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}
bool is_elf(ByteSpan bytes) { return starts_with(bytes, std::string_view(ELFMAG, SELFMAG)); }
bool is_fat_binary(ByteSpan bytes) {
  uint32_t magic = 0;
  return read_at(bytes, 0, magic) && magic == kFatMagic;
}

struct Entry {
  FatEntry header;
  ByteSpan data;
};

// The entries of a fat binary, in their order.
Result<std::vector<Entry>> entries_of(ByteSpan fat_binary, const std::string& name) {
  auto corrupt = [&](uint64_t offset, std::string_view what) {
    return error(Code::corrupt, "{}: fat binary offset {}: {}", name, offset, what);
  };
  FatHeader header;
  if (!read_at(fat_binary, 0, header) || header.magic != kFatMagic) return corrupt(0, "no fat binary starts here (wrong magic)");
  if (!inside(fat_binary, header.header_bytes, header.content_bytes)) return corrupt(8, "its content reaches beyond its end");
  fat_binary = fat_binary.first(header.header_bytes + header.content_bytes);
  std::vector<Entry> entries;
  for (uint64_t offset = header.header_bytes; offset < fat_binary.size();) {
    FatEntry entry;
    if (!read_at(fat_binary, offset, entry) || entry.header_bytes < sizeof entry)
      return corrupt(offset, "an entry's header is damaged");
    if (!inside(fat_binary, offset + entry.header_bytes, entry.data_bytes))
      return corrupt(offset, "an entry reaches beyond the end");
    entries.push_back({entry, fat_binary.subspan(offset + entry.header_bytes, entry.data_bytes)});
    offset += entry.header_bytes + entry.data_bytes;
  }
  return entries;
}

std::string list(const std::vector<Entry>& entries) {
  constexpr const char* kSuffixes[] = {"", "f", "a"};
  std::string all;
  for (const Entry& entry : entries)
    all += fmt::format("{}{} for sm_{}{}", all.empty() ? "" : ", ", entry.header.kind == kEntryElf ? "code" : "PTX",
                       entry.header.sm, kSuffixes[static_cast<size_t>(scope_of(entry.header))]);
  return all.empty() ? "nothing" : all;
}

Result<ByteVector> content_of(const Entry& entry, const std::string& name) {
  const FatEntry& header = entry.header;
  if ((header.flags & (kFlagLz4 | kFlagZstd)) == 0) return ByteVector(entry.data.begin(), entry.data.end());
  if (header.compressed_bytes > entry.data.size())
    return error(Code::corrupt, "{}: an entry's {} compressed bytes reach beyond its {}", name, header.compressed_bytes,
                 entry.data.size());
  // No compressor is that good; a size that is damaged is not to take all memory.
  if (header.uncompressed_bytes / 4096 > entry.data.size())
    return error(Code::corrupt, "{}: an entry of {} bytes cannot hold {}", name, entry.data.size(), header.uncompressed_bytes);
  const ByteSpan compressed = entry.data.first(header.compressed_bytes);
  if (header.flags & kFlagZstd) {
    auto content = decompress(compressed, Bytes(header.uncompressed_bytes));
    return content.ok() ? std::move(content) : content.status().with_context(name + ": decompressing its device code");
  }
  ByteVector content(header.uncompressed_bytes);
  const int written =
      LZ4_decompress_safe(reinterpret_cast<const char*>(compressed.data()), reinterpret_cast<char*>(content.data()),
                          static_cast<int>(compressed.size()), static_cast<int>(content.size()));
  if (written < 0 || static_cast<size_t>(written) != content.size())
    return error(Code::corrupt, "{}: decompressing its device code: the LZ4 data is damaged", name);
  return content;
}

void drop_terminator(ByteVector& text) {
  while (!text.empty() && text.back() == std::byte{0}) text.pop_back();
}

// In e_flags; the newer layout has the architecture one byte higher.
uint32_t architecture_of(const Elf64_Ehdr& header) {
  constexpr unsigned char kNewerLayout = 8;
  return header.e_ident[EI_ABIVERSION] >= kNewerLayout ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
}

// Of ".target sm_90a, debug"; 0 where there is none.
uint32_t architecture_of_ptx(std::string_view text) {
  const size_t at = text.find(".target");
  const size_t name = at == text.npos ? at : text.find("sm_", at);
  uint32_t sm = 0;
  for (size_t i = name == text.npos ? text.size() : name + 3; i < text.size() && text[i] >= '0' && text[i] <= '9' && sm < 1000;
       ++i)
    sm = sm * 10 + static_cast<uint32_t>(text[i] - '0');
  return sm;
}

}  // namespace

Result<ByteSpan> fat_binary_of_wrapper(const void* wrapper) {
  const ImageWrapper view = read_wrapper(wrapper);
  if (view.magic != kFatWrapper || view.image == nullptr)
    return error(Code::corrupt, "a fat binary was registered whose wrapper has magic {:#x}, {:#x} expected", view.magic,
                 kFatWrapper);
  FatHeader header;
  std::memcpy(&header, view.image, sizeof header);
  if (header.magic != kFatMagic)
    return error(Code::corrupt, "a registered fat binary has magic {:#x}, {:#x} expected", header.magic, kFatMagic);
  return ByteSpan(view.image, header.header_bytes + header.content_bytes);
}

Result<DeviceElf> find_device_elf(ByteSpan fat_binary, uint32_t sm, const std::string& name) {
  MNEME_ASSIGN(const std::vector<Entry> entries, entries_of(fat_binary, name));
  const Entry* best = nullptr;
  bool compressed = false;
  for (const Entry& entry : entries) {
    if (entry.header.kind != kEntryElf) continue;
    if (entry.header.flags & (kFlagLz4 | kFlagZstd))
      compressed = true;
    else if (runs_on(entry.header, sm) && better(entry.header, best ? &best->header : nullptr))
      best = &entry;
  }
  if (best) return DeviceElf{.bytes = best->data, .sm = best->header.sm, .owner = nullptr};
  if (compressed)
    return error(Code::unsupported,
                 "{}: its device code is compressed: compile without --offload-compress (and -Xcuda-fatbinary --compress-all)",
                 name);
  return error(Code::unsupported, "{}: no device code{} (it holds {}): compile with --offload-arch", name,
               sm == 0 ? std::string() : fmt::format(" that sm_{} runs", sm), list(entries));
}

Result<ByteSpan> image_at(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  uint32_t magic = 0;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic == kFatWrapper) return fat_binary_of_wrapper(image);
  if (magic == kFatMagic) {
    FatHeader header;
    std::memcpy(&header, bytes, sizeof header);
    return ByteSpan(bytes, header.header_bytes + header.content_bytes);
  }
  if (is_elf({bytes, SELFMAG})) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof header);
    uint64_t end = std::max<uint64_t>(header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize,
                                      header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
    for (uint64_t i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
      if (section.sh_type != SHT_NOBITS) end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
    }
    return ByteSpan(bytes, end);
  }
  const auto first = static_cast<unsigned char>(bytes[0]);
  const bool is_text =
      first == '/' || first == '.' || first == '#' || first == ' ' || first == '\n' || first == '\r' || first == '\t';
  if (is_text) return ByteSpan(bytes, std::strlen(static_cast<const char*>(image)));
  return error(Code::unsupported, "an image that begins with {:#010x} is no cubin, no fat binary and no PTX", magic);
}

Result<DeviceCode> read_device_code(ByteSpan image, uint32_t sm, const std::string& name) {
  DeviceCode code;
  if (is_elf(image)) {
    MNEME_ASSIGN(const ElfView elf, ElfView::open(image, name));
    code.cubin.assign(image.begin(), image.end());
    code.sm = architecture_of(elf.header());
    return code;
  }
  if (!is_fat_binary(image)) {
    code.ptx.assign(image.begin(), image.end());
    drop_terminator(code.ptx);
    code.sm = architecture_of_ptx({reinterpret_cast<const char*>(code.ptx.data()), code.ptx.size()});
    if (code.sm == 0) return error(Code::unsupported, "{}: no cubin, no fat binary and no PTX that names its .target", name);
    return code;
  }
  MNEME_ASSIGN(const std::vector<Entry> entries, entries_of(image, name));
  const Entry *cubin = nullptr, *ptx = nullptr;
  for (const Entry& entry : entries) {
    if (!runs_on(entry.header, sm)) continue;
    const Entry*& best = entry.header.kind == kEntryElf ? cubin : ptx;
    const bool is_code = entry.header.kind == kEntryElf || entry.header.kind == kEntryPtx;
    if (is_code && better(entry.header, best ? &best->header : nullptr)) best = &entry;
  }
  if (!cubin && !ptx)
    return error(Code::unsupported, "{}: no device code that sm_{} runs (it holds {})", name, sm, list(entries));
  if (cubin) {
    MNEME_ASSIGN(code.cubin, content_of(*cubin, name));
  }
  if (ptx) {
    MNEME_ASSIGN(code.ptx, content_of(*ptx, name));
    drop_terminator(code.ptx);
  }
  code.sm = (cubin ? cubin : ptx)->header.sm;
  return code;
}

}  // namespace mneme
