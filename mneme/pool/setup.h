// PoolSetup: what a pool tells its zygote first, which every worker is then forked with.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/device/code_image.h"

namespace mneme {

struct PoolSetup {
  Path database;
  Digest static_hash;
  std::vector<Digest> instances;
  DeviceKind device_kind = DeviceKind::cuda;
  Bytes compile_memory;  // limit_compile_memory()
};

// Raised by every change of what workers and who starts them say to each other.
inline constexpr int kWorkerProtocol = 5;
// incompatible: the first message to workers is of another version of Mneme.
Status check_protocol(const nlohmann::json& message);

nlohmann::json to_json(const PoolSetup& setup);
// incompatible: another version of Mneme wrote it. invalid_argument: it is not what to_json() wrote.
Result<PoolSetup> pool_setup_from_json(const nlohmann::json& json);

}  // namespace mneme
