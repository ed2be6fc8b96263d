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

// Called during a long step, on the thread that makes it. `what` says what the step does ("reading the memory before the
// launch"), `done` how much of it is done, from 0 to 1.
using PrepareProgress = std::function<void(std::string_view what, double done)>;

// The address that the content of one page is copied to.
struct PageUpload {
  Digest digest;
  DevicePtr to;
  Bytes size;
};

// Reads the pages from the database and copies them to the device. A second thread reads the next batch while one is copied.
// Returns when all is copied. `what` goes to `progress`, which may be empty. Failures are the store's and the device's.
Status upload_pages(const Database& database, Stream& stream, const std::vector<PageUpload>& pages,
                    const PrepareProgress& progress, std::string_view what);

// Reads all bytes of a region from the database. Failures are the store's.
Result<ByteVector> read_region(const Database& database, const Region& region);

}  // namespace mneme
