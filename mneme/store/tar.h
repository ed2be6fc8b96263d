// Files in one stream, in the tar format (POSIX ustar): the part of it that an archive of recordings takes. An entry is a regular
// file. Its owner, permissions and time are always the same, so that equal content makes equal bytes.
//
// Reading trusts nothing, and takes only what TarWriter writes, to the byte. Code::corrupt names the source and the offset.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/byte_source.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

class TarWriter {
 public:
  explicit TarWriter(WritableFile& out) : out_(out) {}
  // `name` has at most 99 characters. unsupported: the content has 8 GiB or more.
  Status add(const std::string& name, ByteSpan content);
  // Writes the mark of the end.
  Status finish();

 private:
  WritableFile& out_;
};

struct TarEntry {
  std::string name;
  ByteVector content;
  uint64_t offset = 0;  // of its header in the stream
};

class TarReader {
 public:
  // `name` is what messages call the source.
  TarReader(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {}
  // The next file; nothing at the end. The content is held in memory, which grows only with what the source has.
  Result<std::optional<TarEntry>> next();
  const std::string& name() const { return name_; }

 private:
  Status fill(MutableByteSpan into);
  Result<ByteVector> read_content(uint64_t size);
  Status read_end();

  ByteSource& source_;
  const std::string name_;
  uint64_t offset_ = 0;
};

// Where the content of a file of a stream lies in the file that holds the stream.
struct TarPlace {
  std::string name;
  uint64_t offset = 0;
  Bytes size;
};
// The files of a stream that is the `size` bytes from `offset` on in `file`, in their order. Their contents are not read. As with
// TarReader, `name` is what messages call the file.
Result<std::vector<TarPlace>> find_entries(ReadableFile& file, uint64_t offset, Bytes size, const std::string& name);

}  // namespace mneme
