// The file of an exported program: an executable, behind whose end stands what it runs.
//
//   runner (lib/mneme/program) | description (JSON) | code image | archive of the memory | trailer (64 bytes)
//
// The trailer, little-endian: "MNEMEPRG"; the format's version as two 16-bit numbers; 32 bits that are zero; the sizes of the
// four parts as 64-bit numbers; and the digest of all that stands before it in the file, the runner included. The archive is one
// as `mneme export` writes, but without the recorded code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

inline constexpr uint16_t kProgramMajor = 1;
inline constexpr uint16_t kProgramMinor = 1;  // 1.1: the description says what is masked

// Writes such a file; the parts come in their order.
class ProgramWriter {
 public:
  explicit ProgramWriter(WritableFile& out) : out_(out) {}

  Status put_runner(ByteSpan bytes) { return put(0, bytes); }
  Status put_description(ByteSpan bytes) { return put(1, bytes); }
  Status put_code(ByteSpan bytes) { return put(2, bytes); }
  // What `write` appends to the file that it is given.
  Status put_archive(const std::function<Status(WritableFile&)>& write);
  // Writes the trailer.
  Status finish();

 private:
  class Part;
  Status put(size_t part, ByteSpan bytes);

  WritableFile& out_;
  Hasher hasher_;
  uint64_t sizes_[4] = {};
};

struct ProgramParts {
  std::unique_ptr<ReadableFile> file;
  std::string description;
  ByteVector code;
  uint64_t archive = 0;  // where it begins in the file
  Bytes archive_size;
};

// Reads a program, and checks that each of its bytes is as it was written. `name` is what messages call it. corrupt: the file is
// cut short or damaged, or is no exported program. incompatible: a newer Mneme has made it.
Result<ProgramParts> read_program(std::unique_ptr<ReadableFile> file, const std::string& name);

}  // namespace mneme
