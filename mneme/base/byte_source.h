// ByteSource: bytes that come one after another, of a file or of a pipe.
#pragma once

#include <memory>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into` as far as there are bytes: the result is smaller than its size only at the end. io: the system cannot read them.
  virtual Result<size_t> read(MutableByteSpan into) = 0;
};

// Any file that can be read: a FIFO too, whose writer is waited for. not_found, io.
Result<std::unique_ptr<ByteSource>> open_byte_source(const Path& path);
Result<std::unique_ptr<ByteSource>> standard_input();

}  // namespace mneme
