// Reading and writing of little-endian binary formats. Every read is bounds-checked; a failure is corrupt and names the offset.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

class ByteWriter {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(ByteSpan bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }
  void put_string(std::string_view text);  // u32 length, then the bytes

  size_t size() const { return buffer_.size(); }
  const ByteVector& buffer() const { return buffer_; }
  ByteVector take() { return std::move(buffer_); }

 private:
  ByteVector buffer_;
};

// A view over bytes that must outlive it. `name` is what errors call the source, for example the file's path.
class ByteReader {
 public:
  ByteReader(ByteSpan bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Status read(T& value) {
    MNEME_ASSIGN(ByteSpan bytes, read_bytes(sizeof(T)));
    __builtin_memcpy(&value, bytes.data(), sizeof(T));
    return {};
  }
  Result<ByteSpan> read_bytes(uint64_t count);  // corrupt when fewer are left
  Status read_string(std::string& text, uint32_t max_length = 1 << 20);
  // Reads a u64 count of elements of at least `element_bytes` each; corrupt when so many cannot fit in what is left.
  Result<uint64_t> read_count(uint64_t element_bytes);

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& name() const { return name_; }
  // corrupt: "<name>: offset <offset>: <what>"
  Status corrupt(std::string_view what) const;

 private:
  ByteSpan bytes_;
  std::string name_;
  uint64_t offset_ = 0;
};

}  // namespace mneme
