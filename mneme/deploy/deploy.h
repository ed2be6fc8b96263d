// Deploying: what was found becomes code that a program can run (mneme/tuned/tuned_file.h). It is compiled as a replay compiles
// it, and replayed: what is written is what was verified.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mneme/deploy/found.h"
#include "mneme/device/device.h"
#include "mneme/measure/execution.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

enum class Unconfirmed {
  leave_out,  // what is not confirmed to be faster
  take,
};

// What is taken, and where it has to be faster.
struct DeployTerms {
  Unconfirmed unconfirmed = Unconfirmed::leave_out;
  // What launches find in the L2 cache; nothing: it has to be faster whatever they find, and what is least is promised.
  std::optional<CacheState> l2;
};

// What became of one recorded launch of a folder of results.
struct Deployed {
  Path folder;
  std::string kernel;  // demangled
  Digest instance;
  // Why the code for this instance is not deployed; ok: it is in the file.
  Status left_out;
};

// Compiles the configuration for each instance, verifies it on `device`, and adds what is right to `into`. What a search has
// confirmed is taken at its word, but for a kernel with variables, whose deployed code is other code; all else is measured here,
// in turn with the launch as recorded. So is, on a device with a cache to set, what the search has not measured of the terms:
// a program's launches may find another cache than the search's did. Launches that the same code covers have one promise
// (promise.h), each weighed as in the search, and where the code is wrong on one of them it is deployed for none. Failures are
// those of one who cannot work; what only keeps the code from being deployed is in the result. `progress` is called with what is
// done next.
Result<std::vector<Deployed>> deploy(const FoundConfiguration& found, Device& device, const DeployTerms& terms, TunedFile& into,
                                     const std::function<void(const std::string&)>& progress = {});

struct Deployment {
  TunedFile file;
  std::vector<Deployed> outcomes;  // of each instance of each folder, in their order
};
// Deploys folders of results, each on the first device of the kind that it was searched on, and adds files of earlier
// deployments; of what is for the same launches the last is taken. Failures: those of read_found(), decode_tuned(),
// Device::open() and deploy().
Result<Deployment> deploy_all(const std::vector<std::string>& results, const DeployTerms& terms,
                              const std::function<void(const std::string&)>& progress = {});

// Reads a file of an earlier deployment.
Result<TunedFile> read_tuned(const Path& path, FileSystem& files = FileSystem::posix());

// The states of the cache in which a configuration has to be faster: that of its search first, and on devices with a cache to set
// the others, unless the terms name one or ask for nothing.
std::vector<CacheState> states_that_count(const DeployTerms& terms, CacheState searched, DeviceKind device);

}  // namespace mneme
