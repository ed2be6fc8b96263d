// FoundConfiguration: what a folder of results (docs/reference/results.md) says was found: its plan and its best.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/device/held_addresses.h"
#include "mneme/replay/configuration.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

struct FoundConfiguration {
  Path folder;
  Path database;
  Digest static_hash;
  std::vector<Digest> instances;
  std::vector<double> weights;  // of each, by which the search has added their times (mneme/pool/weights.h)
  DeviceKind device = DeviceKind::cpu;
  Configuration configuration;
  std::string claim;                // "faster", "slower", "no difference", "not confirmed"
  std::optional<SpeedUp> speed_up;  // with its interval; nothing where it was not confirmed
};

// not_found: the folder has no plan of `mneme sweep` or `mneme tune`, or no best.json yet. corrupt, invalid_argument: a member is
// missing or of another kind.
Result<FoundConfiguration> read_found(const Path& folder, FileSystem& files = FileSystem::posix());
// Holds the addresses of the memory that it was found on: before a device is opened for it (hold_recorded_addresses).
HeldAddresses hold_addresses(const FoundConfiguration& found);

}  // namespace mneme
