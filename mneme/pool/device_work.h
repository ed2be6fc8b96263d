// What device workers do: replay code that a compile worker has made, on each recorded instance.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "mneme/base/disk_cache.h"
#include "mneme/memory/shared_copies.h"
#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/worker.h"

namespace mneme {

// Where the copies of each instance's memory come from, and who is told of those that this process makes. What the functions
// return is ignored.
struct DeviceCopies {
  std::vector<SharedCopies> there;   // what another process has copied, by instance; missing ones are made
  std::string no_mask;               // why no mask is to be looked for; empty: one may be
  std::shared_ptr<DiskCache> cache;  // of the recorded code and of masks; null: none
  // Called with each instance's copies that this process has made. Unset: they are not made to be shared.
  std::function<Status(size_t instance, SharedCopies copies)> keep;
  // Called where the search for a mask has ended in a device fault, with the reason that another process is to get as `no_mask`.
  // The work is not created then.
  std::function<Status(const std::string& no_mask)> lost_to_mask;
};

// Prepares a session for each instance. With several instances a configuration is right when it is right on each, and each of its
// timed runs is one run of every instance, their times added by the weights of the launches. `recorded` and `device` must outlive
// the work. Failures: those of Session::prepare(), prepare_mask() and rehearse().
Result<std::unique_ptr<DeviceWork>> create_device_work(const RecordedKernel& recorded, Device& device, DeviceCopies copies = {});

}  // namespace mneme
