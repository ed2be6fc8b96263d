#include "mneme/exported/program_file.h"

#include <algorithm>
#include <cstring>

namespace mneme {
namespace {

struct Trailer {
  char magic[8];
  uint16_t major, minor;
  uint32_t zero;
  uint64_t sizes[4];
  uint8_t digest[16];
};
static_assert(sizeof(Trailer) == 64);

constexpr char kMagic[] = {'M', 'N', 'E', 'M', 'E', 'P', 'R', 'G'};

// The digest of the first `size` bytes, and of the trailer before its own digest.
Result<Digest> digest_of(ReadableFile& file, uint64_t size, const Trailer& trailer) {
  constexpr uint64_t kPiece = 4 << 20;
  Hasher hasher;
  ByteVector piece(static_cast<size_t>(std::min(kPiece, size)));
  for (uint64_t at = 0; at < size; at += kPiece) {
    const auto part = MutableByteSpan(piece).first(static_cast<size_t>(std::min(kPiece, size - at)));
    MNEME_TRY(file.read(at, part));
    hasher.add(ByteSpan(part));
  }
  hasher.add(std::as_bytes(std::span(&trailer, 1)).first(offsetof(Trailer, digest)));
  return hasher.finish();
}

// Whether the four sizes are exactly what stands before the trailer.
bool fill(const Trailer& trailer, uint64_t before) {
  for (const uint64_t size : trailer.sizes) {
    if (size > before) return false;
    before -= size;
  }
  return before == 0;
}

}  // namespace

class ProgramWriter::Part final : public WritableFile {
 public:
  Part(ProgramWriter& program, size_t part) : program_(program), part_(part) {}
  Status append(ByteSpan bytes) override { return program_.put(part_, bytes); }
  Status sync() override { return {}; }
  Status close() override { return {}; }

 private:
  ProgramWriter& program_;
  const size_t part_;
};

Status ProgramWriter::put(size_t part, ByteSpan bytes) {
  hasher_.add(bytes);
  sizes_[part] += bytes.size();
  return out_.append(bytes);
}

Status ProgramWriter::put_archive(const std::function<Status(WritableFile&)>& write) {
  Part archive(*this, 3);
  return write(archive);
}

Status ProgramWriter::finish() {
  Trailer trailer{};
  std::memcpy(trailer.magic, kMagic, sizeof kMagic);
  trailer.major = kProgramMajor;
  trailer.minor = kProgramMinor;
  std::copy(std::begin(sizes_), std::end(sizes_), trailer.sizes);
  const ByteSpan bytes = std::as_bytes(std::span(&trailer, 1));
  const Digest digest = hasher_.add(bytes.first(offsetof(Trailer, digest))).finish();
  std::copy(digest.bytes.begin(), digest.bytes.end(), trailer.digest);
  return out_.append(bytes);
}

Result<ProgramParts> read_program(std::unique_ptr<ReadableFile> file, const std::string& name) {
  const uint64_t size = file->size().count;
  Trailer trailer{};
  if (size >= sizeof trailer) MNEME_TRY(file->read(size - sizeof trailer, std::as_writable_bytes(std::span(&trailer, 1))));
  if (std::memcmp(trailer.magic, kMagic, sizeof kMagic) != 0)
    return error(Code::corrupt, "{} does not end as an exported program does: it was cut short or damaged, or is none", name);
  const uint64_t before = size - sizeof trailer;
  MNEME_ASSIGN(const Digest digest, digest_of(*file, before, trailer));
  if (!std::equal(digest.bytes.begin(), digest.bytes.end(), trailer.digest))
    return error(Code::corrupt, "{} is not as it was written: its bytes do not have the digest that stands at its end", name);
  if (trailer.major != kProgramMajor)
    return error(Code::incompatible, "{} is a program of format {}.{}, and this runner reads format {}", name, trailer.major,
                 trailer.minor, kProgramMajor);
  if (!fill(trailer, before)) return error(Code::corrupt, "{}: the sizes of its parts are not that of the file", name);
  ProgramParts parts;
  MNEME_ASSIGN(const ByteVector description, file->read_range(trailer.sizes[0], Bytes(trailer.sizes[1])));
  parts.description.assign(reinterpret_cast<const char*>(description.data()), description.size());
  MNEME_ASSIGN(parts.code, file->read_range(trailer.sizes[0] + trailer.sizes[1], Bytes(trailer.sizes[2])));
  parts.archive = trailer.sizes[0] + trailer.sizes[1] + trailer.sizes[2];
  parts.archive_size = Bytes(trailer.sizes[3]);
  parts.file = std::move(file);
  return parts;
}

}  // namespace mneme
