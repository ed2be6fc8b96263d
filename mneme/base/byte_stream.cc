#include "mneme/base/byte_stream.h"

namespace mneme {

void ByteWriter::put_string(std::string_view text) {
  put(static_cast<uint32_t>(text.size()));
  put_bytes(std::as_bytes(std::span(text)));
}

Result<ByteSpan> ByteReader::read_bytes(uint64_t count) {
  if (count > remaining()) return corrupt(fmt::format("{} bytes expected, {} left", count, remaining()));
  ByteSpan bytes = bytes_.subspan(offset_, count);
  offset_ += count;
  return bytes;
}

Status ByteReader::read_string(std::string& text, uint32_t max_length) {
  uint32_t length = 0;
  MNEME_TRY(read(length));
  if (length > max_length) return corrupt(fmt::format("a string of {} bytes is longer than {}", length, max_length));
  MNEME_ASSIGN(ByteSpan bytes, read_bytes(length));
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<uint64_t> ByteReader::read_count(uint64_t element_bytes) {
  uint64_t count = 0;
  MNEME_TRY(read(count));
  if (element_bytes != 0 && count > remaining() / element_bytes)
    return corrupt(fmt::format("{} entries of {} bytes do not fit in the {} bytes left", count, element_bytes, remaining()));
  return count;
}

Status ByteReader::corrupt(std::string_view what) const {
  return error(Code::corrupt, "{}: offset {}: {}", name_, offset_, what);
}

}  // namespace mneme
