// Pages of a recording on their way to the device.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme {

// Told what a long step is doing: "reading the recorded memory", and how much of it is done (0 to 1).
using PrepareProgress = std::function<void(std::string_view what, double done)>;

// Where the content of one page goes.
struct PageUpload {
  Digest digest;
  DevicePtr to;
  Bytes size;
};

// Reads the pages and copies them, one batch being read while the one before is copied. Failures: the store's, the device's.
Status upload_pages(const Database& database, Stream& stream, const std::vector<PageUpload>& pages,
                    const PrepareProgress& progress, std::string_view what);

// All bytes of a region.
Result<ByteVector> read_region(const Database& database, const Region& region);

}  // namespace mneme
