// The layouts are those of clang's documentation ("Clang Offload Bundler").
#include "mneme/runtime/code_bundle.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "mneme/base/amd_target.h"
#include "mneme/base/compress.h"
#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/image_wrapper.h"

namespace mneme {
namespace {

constexpr std::string_view kPlainMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
// The host's entry, whose content is empty, and at most a few dozen targets.
constexpr uint64_t kMostEntries = 4096, kLongestName = 4096;

bool begins_with(ByteSpan bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

struct Entry {
  std::string_view kind;    // "host", "hip", "hipv4"
  std::string_view target;  // "gfx90a:xnack+"
  uint64_t offset = 0, size = 0;
};

// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+" is a kind, a triple, whose last part may be empty, and a target.
void split_name(Entry& entry, std::string_view name) {
  entry.kind = name.substr(0, name.find('-'));
  size_t at = 0;
  for (int part = 0; part < 5 && at != name.npos; ++part) at = name.find('-', at == 0 ? 0 : at + 1);
  if (at != name.npos) entry.target = name.substr(at + 1);
}

// Reads the table at the beginning of a plain bundle, which may be all that `bytes` has of it.
Result<std::vector<Entry>> entries_of(ByteSpan bytes, const std::string& name) {
  const auto corrupt = [&](uint64_t offset, std::string_view what) {
    return error(Code::corrupt, "{}: bundle offset {}: {}", name, offset, what);
  };
  uint64_t at = kPlainMagic.size(), count = 0;
  if (!begins_with(bytes, kPlainMagic)) return corrupt(0, "no bundle of code objects starts here (wrong magic)");
  if (!read_at(bytes, at, count)) return corrupt(at, "it ends before its table");
  if (count > kMostEntries) return corrupt(at, fmt::format("{} entries are too many", count));
  at += sizeof count;
  std::vector<Entry> entries;
  for (; count != 0; --count) {
    uint64_t words[3];  // offset, size, length of the name
    if (!read_at(bytes, at, words)) return corrupt(at, "it ends within its table");
    if (words[2] > kLongestName || !inside(bytes, at + sizeof words, words[2])) return corrupt(at, "an entry's name is damaged");
    Entry entry{.kind = {}, .target = {}, .offset = words[0], .size = words[1]};
    split_name(entry, {reinterpret_cast<const char*>(bytes.data() + at + sizeof words), words[2]});
    entries.push_back(entry);
    at += sizeof words + words[2];
  }
  return entries;
}

// What stands before the data of a compressed bundle. Its second version brought the size of the whole, its third wider sizes.
struct CompressedHeader {
  uint16_t version = 0, method = 0;
  uint64_t header_bytes = 0, bytes = 0, content_bytes = 0;
};
constexpr uint16_t kZlib = 0, kZstd = 1;

Result<CompressedHeader> compressed_header(ByteSpan bytes, const std::string& name) {
  CompressedHeader header;
  if (!read_at(bytes, 4, header.version) || !read_at(bytes, 6, header.method))
    return error(Code::corrupt, "{}: bundle offset 4: it ends within its header", name);
  if (header.version == 1)
    return error(Code::unsupported,
                 "{}: its code objects were compressed by a clang before 19: compile again, or without --offload-compress", name);
  if (header.version != 2 && header.version != 3)
    return error(Code::unsupported, "{}: a compressed bundle of version {}, which is not known", name, header.version);
  bool whole = false;
  if (header.version == 2) {
    uint32_t sizes[2] = {};
    whole = read_at(bytes, 8, sizes);
    header.bytes = sizes[0], header.content_bytes = sizes[1], header.header_bytes = 24;
  } else {
    whole = read_at(bytes, 8, header.bytes) && read_at(bytes, 16, header.content_bytes);
    header.header_bytes = 32;
  }
  if (!whole || header.bytes < header.header_bytes) return error(Code::corrupt, "{}: bundle offset 8: its size is damaged", name);
  return header;
}

Result<ByteVector> content_of(ByteSpan bundle, const std::string& name) {
  MNEME_ASSIGN(const CompressedHeader header, compressed_header(bundle, name));
  if (header.bytes > bundle.size()) return error(Code::corrupt, "{}: bundle offset 8: it reaches beyond its end", name);
  const ByteSpan data = bundle.subspan(header.header_bytes, header.bytes - header.header_bytes);
  // No compressor is that good; a size that is damaged is not to take all memory.
  if (header.content_bytes / 4096 > data.size())
    return error(Code::corrupt, "{}: a bundle of {} bytes cannot hold {}", name, data.size(), header.content_bytes);
  if (header.method == kZstd) {
    auto content = decompress(data, Bytes(header.content_bytes));
    return content.ok() ? std::move(content) : content.status().with_context(name + ": decompressing its code objects");
  }
  if (header.method != kZlib)
    return error(Code::unsupported, "{}: its code objects are compressed by method {}, which is not known", name, header.method);
  ByteVector content(header.content_bytes);
  uLongf written = content.size();
  const int result =
      ::uncompress(reinterpret_cast<Bytef*>(content.data()), &written, reinterpret_cast<const Bytef*>(data.data()), data.size());
  if (result != Z_OK || written != content.size())
    return error(Code::corrupt, "{}: decompressing its code objects: the zlib data is damaged", name);
  return content;
}

bool is_code_object(const Entry& entry) { return entry.kind.starts_with("hip") && entry.size != 0; }

std::string list(const std::vector<Entry>& entries) {
  std::string all;
  for (const Entry& entry : entries)
    if (is_code_object(entry)) all += fmt::format("{}code for {}", all.empty() ? "" : ", ", entry.target);
  return all.empty() ? "nothing" : all;
}

}  // namespace

Result<ByteSpan> bundle_of_wrapper(const void* wrapper) {
  const std::string name = "a registered bundle";
  const ImageWrapper view = read_wrapper(wrapper);
  if (view.magic != kBundleWrapper || view.image == nullptr)
    return error(Code::corrupt, "a bundle was registered whose wrapper has magic {:#x}, {:#x} expected", view.magic,
                 kBundleWrapper);
  if (std::memcmp(view.image, kCompressedMagic.data(), kCompressedMagic.size()) == 0) {
    MNEME_ASSIGN(const CompressedHeader header, compressed_header({view.image, 32}, name));
    return ByteSpan(view.image, header.bytes);
  }
  // The table says where the last code object ends, and its entries how long it is itself: it is read as far as it goes.
  uint64_t end = kPlainMagic.size() + sizeof(uint64_t), count = 0;
  if (!begins_with({view.image, kPlainMagic.size()}, kPlainMagic))
    return error(Code::corrupt, "{}: bundle offset 0: no bundle of code objects starts here (wrong magic)", name);
  std::memcpy(&count, view.image + kPlainMagic.size(), sizeof count);
  for (count = std::min(count, kMostEntries); count != 0; --count) {
    uint64_t words[3];
    std::memcpy(words, view.image + end, sizeof words);
    end += sizeof words + std::min(words[2], kLongestName);
  }
  MNEME_ASSIGN(const std::vector<Entry> entries, entries_of({view.image, end}, name));
  for (const Entry& entry : entries) end = std::max(end, entry.offset + entry.size);
  return ByteSpan(view.image, end);
}

Result<DeviceElf> find_code_object(ByteSpan bundle, std::string_view architecture, const std::string& name) {
  DeviceElf found;
  if (begins_with(bundle, kCompressedMagic)) {
    MNEME_ASSIGN(ByteVector content, content_of(bundle, name));
    found.owner = std::make_shared<const ByteVector>(std::move(content));
    bundle = *found.owner;
  }
  MNEME_ASSIGN(const std::vector<Entry> entries, entries_of(bundle, name));
  const Entry* best = nullptr;
  const bool any = !architecture.starts_with("gfx");
  for (const Entry& entry : entries) {
    if (!is_code_object(entry) || (any ? best != nullptr : !amd_device_runs(entry.target, architecture))) continue;
    if (!best || amd_settings(entry.target).size() > amd_settings(best->target).size()) best = &entry;
  }
  if (!best)
    return error(Code::unsupported, "{}: no device code{} (it holds {}): compile with --offload-arch", name,
                 any ? std::string() : fmt::format(" that {} runs", architecture), list(entries));
  if (!inside(bundle, best->offset, best->size))
    return error(Code::corrupt, "{}: bundle offset {}: the code object for {} reaches beyond its end", name, best->offset,
                 best->target);
  found.bytes = bundle.subspan(best->offset, best->size);
  found.architecture = best->target;
  return found;
}

}  // namespace mneme
