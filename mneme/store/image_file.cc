#include "mneme/store/image_file.h"

#include <cstring>
#include <optional>

#include "mneme/base/compress.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/container.h"
#include "mneme/store/corrupt.h"

namespace mneme {
namespace {

constexpr char kMagic[8] = {'M', 'N', 'E', 'M', 'E', 'I', 'M', 'G'};

enum class ImageEncoding : uint32_t { raw = 0, zstd = 1 };

// The file's first bytes, as they lie in it.
struct ImageHeader {
  ContainerStart start;
  uint8_t digest[16];  // of the code
  uint64_t size;       // of the code
  uint32_t kind;       // CodeImageRecord::Kind
  ImageEncoding encoding;
  uint64_t reserved[2];
};
static_assert(sizeof(ImageHeader) == 88);

Result<ImageHeader> read_header(ByteSpan file, const std::string& name) {
  if (file.empty()) return corrupt(name, 0, "the file is empty");
  ImageHeader header;
  if (file.size() < sizeof header)
    return corrupt(name, file.size(), "the file is too short for an image ({} bytes)", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.start.magic, kMagic, sizeof kMagic) != 0)
    return corrupt(name, 0, "this is no image of code (wrong magic)");
  const FormatVersion version{header.start.major, header.start.minor};
  if (Status known = check_format_version(version, name); !known.ok()) {
    const std::optional<uint16_t> right = version_of_checksum(file);
    return right ? damaged_version(version, *right, "offset 8", name) : known;
  }
  if (header.start.header_bytes != sizeof header)
    return corrupt(name, 12, "a header of {} bytes, {} expected", header.start.header_bytes, sizeof header);
  if (header.start.total_bytes != file.size())
    return corrupt(name, 16, "the file has {} bytes, {} expected", file.size(), header.start.total_bytes);
  if (stored_checksum(file) != container_checksum(file)) return corrupt(name, 24, "the file's checksum is wrong: it was damaged");
  if (header.encoding != ImageEncoding::raw && header.encoding != ImageEncoding::zstd)
    return corrupt(name, 68, "the encoding {} is not known", static_cast<uint32_t>(header.encoding));
  if (header.reserved[0] != 0 || header.reserved[1] != 0) return corrupt(name, 72, "reserved bytes are not zero");
  return header;
}

}  // namespace

ByteVector encode_image(const CodeImageRecord& image, ByteSpan code) {
  const ByteVector packed = compress(code);
  const bool smaller = !packed.empty() && packed.size() < code.size();
  const ByteSpan stored = smaller ? ByteSpan(packed) : code;
  ByteVector file(sizeof(ImageHeader) + stored.size());
  ImageHeader header{};
  std::memcpy(header.start.magic, kMagic, sizeof kMagic);
  header.start.major = kCommonVersion.major;
  header.start.minor = kCommonVersion.minor;
  header.start.header_bytes = sizeof header;
  header.start.total_bytes = file.size();
  std::memcpy(header.digest, image.digest.bytes.data(), sizeof header.digest);
  header.size = image.size.count;
  header.kind = static_cast<uint32_t>(image.kind);
  header.encoding = smaller ? ImageEncoding::zstd : ImageEncoding::raw;
  std::memcpy(file.data(), &header, sizeof header);
  if (!stored.empty()) std::memcpy(file.data() + sizeof header, stored.data(), stored.size());
  seal_container(file);
  return file;
}

Result<ByteVector> decode_image(const CodeImageRecord& image, ByteSpan file, const std::string& name) {
  MNEME_ASSIGN(const ImageHeader header, read_header(file, name));
  if (std::memcmp(header.digest, image.digest.bytes.data(), sizeof header.digest) != 0 || header.size != image.size.count ||
      header.kind != static_cast<uint32_t>(image.kind))
    return corrupt(name, 40, "the file holds another image");
  const ByteSpan stored = file.subspan(sizeof header);
  ByteVector code(stored.begin(), stored.end());
  if (header.encoding == ImageEncoding::zstd) {
    auto content = decompress(stored, image.size);
    if (!content.ok()) return corrupt(name, sizeof header, "decompressing the image: {}", content.status().message());
    code = std::move(*content);
  }
  if (code.size() != image.size.count)
    return corrupt(name, sizeof header, "{} bytes of code, {} expected", code.size(), image.size.count);
  if (const Digest found = digest_of(code); found != image.digest)
    return corrupt(name, sizeof header, "the code's digest is {}, {} expected", found.hex(), image.digest.hex());
  return code;
}

}  // namespace mneme
