// What device workers do: replay code that a compile worker has made, on each recorded instance.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "mneme/memory/shared_copies.h"
#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"

namespace mneme {

// Where the copies of each instance's memory come from, and who is to have those that this process makes. A failure of `keep` or
// `lost_to_mask` is nobody's.
struct DeviceCopies {
  std::vector<SharedCopies> there;
  std::string no_mask;  // why none is to be looked for, where that is so
  std::function<Status(size_t instance, SharedCopies copies)> keep;
  // Looking for a mask has taken the device along, and the work is not created: another process is to look for none.
  std::function<Status(const std::string& no_mask)> lost_to_mask;
};

// Prepares a session for each instance. Where there are several, a configuration is right when it is right on each, and one of
// its timed runs is one of every instance: their times added. `recorded` and `device` must outlive the work. Failures: those of
// Session::prepare() and prepare_mask().
Result<std::unique_ptr<DeviceWork>> create_device_work(const RecordedKernel& recorded, Device& device, DeviceCopies copies = {});

}  // namespace mneme
