// SharedCopies: a RecordedCopies on its way to another process: a description, and a file descriptor for each buffer.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/recorded_copies.h"

namespace mneme {

struct SharedCopies {
  nlohmann::json description;
  std::vector<Descriptor> descriptors;  // one for each buffer that there is, at most five
};

// Makes the copies ready to be taken over by another process. They must have been made shareable; unsupported else. From then
// on this process, too, can only read them (a kernel that writes there faults), and the buffers of `copies` lie at other
// addresses. On failure the buffers that could not be shared are as they were.
Result<SharedCopies> share_copies(RecordedCopies& copies, Device& device);
// Takes over the copies that share_copies() has made ready in another process, or in this one. invalid_argument: `shared` is
// not what share_copies() made. Other failures are those of Device::import_shared().
Result<RecordedCopies> import_copies(const SharedCopies& shared, Device& device);

}  // namespace mneme
