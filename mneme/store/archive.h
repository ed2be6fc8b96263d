// An archive: recordings in one file, which any tar takes apart into a database that holds just these. docs/reference/database.md
// specifies it. Written and read from its begin to its end, so that it may be a pipe.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/byte_source.h"
#include "mneme/store/database.h"
#include "mneme/store/tar.h"

namespace mneme {

// What an archive holds of the code of its kernels: all that was recorded, or nothing. Without it nobody can import the archive;
// ArchiveFiles reads it.
enum class ArchivedCode { all, none };

// Writes an archive: begin(), then of each kernel begin_kernel(), its pages and instances, then finish().
class ArchiveWriter final : public RecordingSink {
 public:
  explicit ArchiveWriter(WritableFile& out, ArchivedCode code = ArchivedCode::all) : tar_(out), code_(code) {}

  Status begin(const std::vector<KernelDocument>& kernels);
  Status begin_kernel(SentKernel kernel) override;
  Status put_page(const StoredPage& page) override;
  Status put_instance(const RecordedInstance& recorded) override;
  Status finish() { return tar_.finish(); }

 private:
  Status add_state(Moment moment, const InstanceRecord& instance, const MemoryState& state);
  Status end_pack();

  TarWriter tar_;
  const ArchivedCode code_;
  std::set<std::string> images_;  // names of those that were written
  ByteVector pack_;               // header and pages of the pack that is being made; empty: none is
  std::vector<PackedPage> pages_;
  std::unordered_map<Digest, Digest> packs_;  // of pages that were written
};

// Writes these kernels, with their instances that `kernels` lists, as an archive.
Status write_archive(const Database& database, const std::vector<KernelDocument>& kernels, WritableFile& out);

// Reads an archive, and gives what it holds to `to`, each thing once it is known to be whole. corrupt, incompatible: with the
// name and the offset. Other failures are those of the source and of `to`.
Status read_archive(ByteSource& source, const std::string& name, RecordingSink& to);

}  // namespace mneme
