// RecordedMemory: the memory of one recorded launch, cut into what its user calls by a name, read when it is asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/store/database.h"

namespace mneme::python {

struct RecordedBuffer {
  std::string name;     // by which a tolerance can name it too
  std::string kind;     // "argument", "global", "annotation", "allocation"
  std::string element;  // "f32"; empty where it is not known
  DevicePtr address;
  Bytes size;  // whole elements
  size_t region = 0;
  uint64_t offset = 0;  // in the region
};

// Memory at a multiple of 64, as wide elements are best read.
class RecordedBytes {
 public:
  explicit RecordedBytes(Bytes size);
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

// Thread-safe.
class RecordedMemory {
 public:
  // What the store says of a damaged database.
  static Result<RecordedMemory> load(std::shared_ptr<Database> database, const KernelRecord& kernel,
                                     const InstanceRecord& instance);

  const std::vector<RecordedBuffer>& buffers() const { return buffers_; }
  // All of the buffer's region. What is read is shared by all that still have it, and the prologue by an epilogue that is the
  // same.
  Result<std::shared_ptr<const RecordedBytes>> read(const RecordedBuffer& buffer, Moment moment);

 private:
  using Kept = std::map<std::pair<size_t, Moment>, std::weak_ptr<const RecordedBytes>>;
  RecordedMemory(std::shared_ptr<Database> database, MemoryPlan plan)
      : database_(std::move(database)), plan_(std::move(plan)), mutex_(std::make_unique<std::mutex>()) {}

  std::shared_ptr<Database> database_;
  MemoryPlan plan_;
  std::vector<RecordedBuffer> buffers_;
  std::unique_ptr<std::mutex> mutex_;  // over kept_
  Kept kept_;
};

// The recorded code as one module.
Result<ByteVector> recorded_bitcode(const Database& database, const KernelRecord& kernel);

}  // namespace mneme::python
