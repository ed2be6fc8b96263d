// PoolSetup: the first message of a pool to its zygote. Every worker that is forked later knows it.
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
  Bytes compile_memory;              // what one compilation may take; see limit_compile_memory()
  std::string compile_for = {};      // PoolOptions::compile_for; it decides the kind where it is not empty
  std::vector<double> weights = {};  // PoolOptions::weights
};

// The version of the messages between workers and the program that starts them. Every change of a message raises it.
inline constexpr int kWorkerProtocol = 8;
// incompatible: `message`, the first to a worker's process, is from a program with another version.
Status check_protocol(const nlohmann::json& message);

nlohmann::json to_json(const PoolSetup& setup);
// incompatible: as check_protocol(). invalid_argument: it is not what to_json() wrote.
Result<PoolSetup> pool_setup_from_json(const nlohmann::json& json);

}  // namespace mneme
