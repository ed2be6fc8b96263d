// Job: one configuration that a pool was given, and what its scheduler knows of it so far.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/pool/messages.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct FutureState;  // future_state.h; a job only carries it

// What a device worker needs to run a job.
struct DeviceCode {
  nlohmann::json description = {};  // CodeAssembled::description; null: it was not assembled yet
  ObjectHandle object = {};
};

struct Job {
  JobId id = 0;
  Configuration configuration;
  std::shared_ptr<FutureState> future;
  std::string label = {};  // not empty: its measurement is shared with none

  // From when it is looked at first, see identify():
  nlohmann::json json = {};      // the configuration
  Digest digest = {};            // whole_digest()
  std::string compile_key = {};  // what the compiler is asked
  std::string launch_key = {};   // what its measurement depends on beside the object

  std::string code_digest = {};  // of its translation, once that is known
  nlohmann::json about = {};     // what the result is to say of its compilation
  DeviceCode code = {};
  std::string measurement = {};  // the key of the measurement that others wait for, where it is this job that is measured
  bool at_worker = false;
  bool cancelled = false;
  bool told_to_stop = false;
  unsigned losses = 0;  // times that a worker was lost before the job began, and nobody knows why
  bool alone = false;   // a worker was lost while others ran and its result was awaited
};

// Equal for configurations of which the compiler is asked the same: whatever only the launch or the verdict depends on is left
// out, unless the code is specialised to the launch. Files count by what the system says of them.
std::string compile_key(const Configuration& configuration, const nlohmann::json& json);
// Of what an object and its facts do not hold.
std::string launch_key(const nlohmann::json& configuration);
// Fills in what follows from the configuration, once.
void identify(Job& job);

}  // namespace mneme
