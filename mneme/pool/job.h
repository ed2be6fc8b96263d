// Job: one configuration that a pool was given, and what its scheduler knows of it so far.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/pool/messages.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct FutureState;  // future_state.h

// What a device worker needs to run a job.
struct DeviceCode {
  nlohmann::json description = {};  // as CodeAssembled::description; null: the code was not assembled yet
  ObjectHandle object = {};         // null: it is not kept any more, or was not assembled yet
};

struct Job {
  JobId id = 0;
  Configuration configuration;
  std::shared_ptr<FutureState> future;
  std::string label = {};  // of Pool::measure_anew(); not empty: the measurement is shared with no other job

  // Filled in by identify():
  nlohmann::json json = {};      // the configuration
  Digest digest = {};            // whole_digest()
  std::string compile_key = {};  // compile_key()
  std::string launch_key = {};   // launch_key()
  uint64_t translation = 0;      // a number of translation_key()

  std::string code_digest = {};  // of its translation, once that is known
  nlohmann::json about = {};     // what the result is to say of its compilation, as CodeTranslated::about
  DeviceCode code = {};          // once it is known
  std::string measurement = {};  // where this job is measured for others too: the key of that measurement in Sharing
  bool at_worker = false;        // a worker has it
  bool cancelled = false;        // the caller has given it up
  bool told_to_stop = false;     // its device worker was sent StopJob
  unsigned losses = 0;           // how often its worker was lost before it began, for no known cause
  unsigned passed_over = 0;      // how often it was the first to be compiled, and a later one was taken
  bool alone =
      false;  // it is assembled with no other, and its result is sent before another job begins: a worker was lost with it
};

// A key that two configurations share when the compiler is asked the same for both. It leaves out what only the launch, its
// timing or the verdict depends on; the launch's shape only where the code is not specialised. IR and plugins count by what the
// system says of their files (describe_file()), which are not read. `json` is the configuration's.
std::string compile_key(const Configuration& configuration, const nlohmann::json& json);
// The same of LLVM alone: it leaves out what the assembler is asked for, and the launch's shape where the code is specialised for
// none of its dimensions.
std::string translation_key(const Configuration& configuration, const nlohmann::json& json);
// A key of everything that a measurement depends on beside the object: the launch, its timing, and the verdict.
std::string launch_key(const nlohmann::json& configuration);
// Fills in the members that follow from the configuration. Does nothing when it is called again.
void identify(Job& job);

}  // namespace mneme
