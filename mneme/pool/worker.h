// What a pool's worker processes do with the messages they get (see scheduler.h), over the work itself as an interface.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/pool/channel.h"
#include "mneme/pool/pool_result.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct AssembledCode {
  ByteVector object;
  nlohmann::json description;  // "digest" of the object, and whatever the device worker is to report of it
};

// One configuration's compilation, in two steps so that what ends in the same code is assembled once.
class CompileWork {
 public:
  virtual ~CompileWork() = default;
  // The digest of everything that the object will depend on.
  virtual Result<std::string> translate(const Configuration& configuration) = 0;
  virtual Result<AssembledCode> assemble() = 0;  // what was translated last
};

class DeviceWork {
 public:
  // Told that the run on the device begins, and of each timed run; false: end it here, with the times there are.
  struct Watch {
    std::function<void()> began;
    std::function<bool(Nanoseconds)> timed;
  };
  virtual ~DeviceWork() = default;
  virtual PoolResult measure(const Configuration& configuration, ByteSpan object, const nlohmann::json& code,
                             const Watch& watch) = 0;
};

// Each serves until the connection closes; `work` failing is what the worker could not start for. serve_device() also ends after
// a device fault, which leaves its process of no use.
void serve_compile(Channel channel, Result<std::unique_ptr<CompileWork>> work);
void serve_device(Channel channel, Result<std::unique_ptr<DeviceWork>> work);

}  // namespace mneme
