// Recordings that benchmarks make themselves: a vector add, out[i] = in[i] + 1.5, of two arrays of floats.
#pragma once

#include <string>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// IR of the kernel. `body` in place of the block that computes an element: it has %i, %in, %out and %r, the sum.
std::string vector_add_ir(const std::string& body = "");

// Records it in a new database in `folder`, as if blocks of 256 threads had run.
Result<InstanceRecord> record_vector_add(const Path& folder, uint64_t elements);

// A folder that goes with the value.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name);  // a part of its own
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const Path& path() const { return path_; }

 private:
  Path path_;
};

}  // namespace mneme
