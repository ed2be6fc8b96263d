// Files that a test holds in memory.
#pragma once

#include <algorithm>
#include <cstring>

#include "mneme/base/byte_source.h"

namespace mneme {

class BytesWritten final : public WritableFile {
 public:
  Status append(ByteSpan more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  Status sync() override { return {}; }
  Status close() override { return {}; }

  ByteVector bytes;
};

class BytesToRead final : public ByteSource {
 public:
  explicit BytesToRead(ByteSpan bytes) : bytes_(bytes) {}
  Result<size_t> read(MutableByteSpan into) override {
    const size_t count = std::min(into.size(), bytes_.size());
    if (count != 0) std::memcpy(into.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }

 private:
  ByteSpan bytes_;
};

}  // namespace mneme
