#include "mneme/store/unlisted.h"

#include <chrono>
#include <utility>

#include "mneme/base/byte_stream.h"
#include "mneme/store/image_file.h"
#include "mneme/store/text.h"

namespace mneme {
namespace {

constexpr std::string_view kMagic = "MNUNLIST";
// A launch of version 2 has one pack at most, which is told as one of several. Before version 4 the temporary names of states
// were those of the files that they are to be.
constexpr uint32_t kVersion = 4, kFirstVersion = 2, kReadyStatesVersion = 4;

ByteVector to_vector(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

void put_block(ByteWriter& writer, ByteSpan bytes) {
  writer.put<uint64_t>(bytes.size());
  writer.put_bytes(bytes);
}

Result<ByteSpan> read_block(ByteReader& reader) {
  uint64_t size = 0;
  MNEME_TRY(reader.read(size));
  return reader.read_bytes(size);
}

// A name that stands in the folder itself, and is a temporary one of `target`.
Status check_name(const ByteReader& reader, const std::string& name, std::string_view target) {
  return is_temporary_of(name, target) ? Status() : reader.corrupt("a file has a name that it cannot have");
}

Result<UnlistedLaunch> decode_launch(ByteSpan bytes, const std::string& name, uint32_t version) {
  ByteReader reader(bytes, name);
  UnlistedLaunch launch;
  MNEME_ASSIGN(const ByteSpan kernel, read_block(reader));
  MNEME_ASSIGN(launch.kernel, decode_kernel(text_of(kernel), name));
  MNEME_ASSIGN(const ByteSpan instance, read_block(reader));
  MNEME_ASSIGN(launch.instance, decode_instance(text_of(instance), launch.kernel.kernel, name, 0));
  uint8_t packs = 0, has_ir = 0;
  MNEME_TRY(reader.read(packs));
  for (uint8_t i = 0; i < packs; ++i) {
    UnlistedLaunch::Pack& pack = launch.packs.emplace_back();
    MNEME_TRY(reader.read_string(pack.temporary));
    MNEME_TRY(check_name(reader, pack.temporary, "pack"));
    MNEME_TRY(reader.read(pack.name));
  }
  for (const Moment moment : {Moment::prologue, Moment::epilogue}) {
    std::string& state = launch.states[moment == Moment::prologue ? 0 : 1];
    MNEME_TRY(reader.read_string(state));
    MNEME_TRY(check_name(reader, state,
                         version >= kReadyStatesVersion
                             ? std::string(state_file_prefix(moment))
                             : state_file_name(moment, launch.instance.static_hash, launch.instance.dynamic_hash)));
  }
  MNEME_TRY(reader.read(has_ir));
  if (has_ir != 0) {
    MNEME_ASSIGN(const ByteSpan ir, read_block(reader));
    launch.ir.emplace(ir.begin(), ir.end());
  }
  MNEME_ASSIGN(const uint64_t images, reader.read_count(sizeof(uint32_t) + sizeof(uint64_t)));
  for (uint64_t i = 0; i < images; ++i) {
    uint32_t place = 0;
    MNEME_TRY(reader.read(place));
    MNEME_ASSIGN(const ByteSpan image, read_block(reader));
    if (place >= launch.kernel.kernel.images.size()) return reader.corrupt("the kernel has no such image");
    launch.images[place].assign(image.begin(), image.end());
  }
  return launch;
}

}  // namespace

ByteVector encode_unlisted_begin(uint64_t begun) {
  ByteWriter writer;
  writer.put_bytes(bytes_of(kMagic));
  writer.put(kVersion);
  writer.put(begun);
  return writer.take();
}

ByteVector encode_unlisted_records(std::string_view encoded_kernel, const InstanceRecord& instance) {
  ByteWriter writer;
  put_block(writer, bytes_of(encoded_kernel));
  std::string line = encode_instance(instance);
  line.pop_back();  // the line feed
  put_block(writer, bytes_of(line));
  return writer.take();
}

ByteVector encode_unlisted(const UnlistedLaunch& launch, ByteSpan records) {
  ByteWriter writer;
  writer.put_bytes(records);
  writer.put(static_cast<uint8_t>(launch.packs.size()));
  for (const UnlistedLaunch::Pack& pack : launch.packs) {
    writer.put_string(pack.temporary);
    writer.put(pack.name);
  }
  for (const std::string& state : launch.states) writer.put_string(state);
  writer.put<uint8_t>(launch.ir.has_value());
  if (launch.ir) put_block(writer, *launch.ir);
  writer.put<uint64_t>(launch.images.size());
  for (const auto& [place, image] : launch.images) {
    writer.put(place);
    put_block(writer, image);
  }
  ByteWriter whole;
  whole.put<uint64_t>(writer.size());
  whole.put(digest_of(writer.buffer()));
  whole.put_bytes(writer.buffer());
  return whole.take();
}

Result<Unlisted> decode_unlisted(ByteSpan bytes, const std::string& name) {
  Unlisted unlisted;
  ByteReader reader(bytes, name);
  uint32_t version = 0;
  const auto magic = reader.read_bytes(kMagic.size());
  if (!magic.ok() || text_of(*magic) != kMagic) return error(Code::corrupt, "{}: offset 0: this tells of no launches", name);
  MNEME_TRY(reader.read(version));
  if (version < kFirstVersion || version > kVersion) return reader.corrupt("it is of another version");
  MNEME_TRY(reader.read(unlisted.begun));
  while (reader.remaining() != 0) {
    uint64_t size = 0;
    Digest digest;
    if (!reader.read(size).ok() || !reader.read(digest).ok()) break;
    const auto launch = reader.read_bytes(size);
    if (!launch.ok() || digest_of(*launch) != digest) break;
    MNEME_ASSIGN(UnlistedLaunch decoded, decode_launch(*launch, name, version));
    unlisted.launches.push_back(std::move(decoded));
  }
  return unlisted;
}

UnlistedFile::~UnlistedFile() {
  [[maybe_unused]] Status removed = database_.files.remove(file_.path);
  [[maybe_unused]] Status closed = file_.file->close();
}

Result<std::unique_ptr<UnlistedFile>> UnlistedFile::create(Database::Impl& database) {
  MNEME_ASSIGN(TemporaryFile file, database.files.create_temporary(database.path_of(std::string(kUnlistedName))));
  auto unlisted = std::make_unique<UnlistedFile>(database, std::move(file));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  MNEME_TRY(unlisted->file_.file->append(encode_unlisted_begin(static_cast<uint64_t>(std::chrono::nanoseconds(now).count()))));
  return unlisted;
}

Status UnlistedFile::add(UnlistedLaunch launch, ByteSpan records, const Recording& recording) {
  const KernelRecord& kernel = recording.kernel;
  std::vector<std::string> tells;
  if (!database_.files.exists(database_.path_of(kernel_file_name(kernel.static_hash)))) {
    const std::string ir = ir_file_name(kernel.static_hash);
    if (kernel.level == CodeLevel::ir && !told_.contains(ir)) launch.ir = to_vector(recording.ir), tells.push_back(ir);
    for (uint32_t i = 0; i < recording.images.size(); ++i) {
      const std::string image = image_file_name(kernel.images[i]);
      if (told_.contains(image) || database_.has_image(kernel.images[i])) continue;
      launch.images[i] = encode_image(kernel.images[i], recording.images[i]);
      tells.push_back(image);
    }
  }
  MNEME_TRY(file_.file->append(encode_unlisted(launch, records)));
  told_.insert(tells.begin(), tells.end());
  for (auto& [place, bytes] : launch.images) images_.try_emplace(image_file_name(kernel.images[place]), std::move(bytes));
  return {};
}

}  // namespace mneme
