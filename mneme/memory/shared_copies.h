// SharedCopies: a RecordedCopies on its way to another process: what it is, and a descriptor of each buffer.
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
  std::vector<Descriptor> descriptors;  // at most four
};

// From now on this process, too, can only read them: a kernel that writes there faults. `copies` are shareable; their buffers lie
// elsewhere then. On failure those that could not be shared are as they were.
Result<SharedCopies> share_copies(RecordedCopies& copies, Device& device);
// invalid_argument: it is not what share_copies() made.
Result<RecordedCopies> import_copies(const SharedCopies& shared, Device& device);

}  // namespace mneme
