// RecordingSink: what takes recordings, one kernel after another and of each its instances: an archive, or another database.
//
//   sink.begin_kernel(kernel);
//   sink.put_page(page);           // of the instance that follows: those that were not put before
//   sink.put_instance(recorded);   // and so on
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/pack.h"

namespace mneme {

struct RecordedInstance {
  InstanceRecord instance;
  MemoryState prologue;
  MemoryState epilogue;
};

struct SentKernel {
  KernelDocument document;         // with the instances that follow, in their order
  ByteVector ir;                   // empty where it was recorded without
  std::vector<ByteVector> images;  // the bytes of document.kernel.images, in the same order
};

class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  virtual Status begin_kernel(SentKernel kernel) = 0;
  // Whether the instance is to be put at all. To be asked before its pages are read, which may be many.
  virtual Result<bool> wants([[maybe_unused]] const RecordedInstance& recorded) { return true; }
  virtual Status put_page(const StoredPage& page) = 0;
  virtual Status put_instance(const RecordedInstance& recorded) = 0;
};

}  // namespace mneme
