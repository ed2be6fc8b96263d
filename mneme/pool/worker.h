// What a pool's worker processes do with the messages they get (messages.h), over the work itself as an interface.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/pool/pool_result.h"
#include "mneme/process/channel.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct TranslatedCode {
  std::string digest;    // of everything that the object will depend on
  nlohmann::json about;  // what a result says of it: "times" by stage, "specialised" by instance
};

struct AssembledCode {
  ByteVector object;
  nlohmann::json description;  // "digest" of the object, "times" by stage
};

// One configuration's compilation, in two steps so that what ends in the same code is assembled once.
class CompileWork {
 public:
  virtual ~CompileWork() = default;
  // Why the configuration has no launch that any device could run; ok: compile it.
  virtual Status check_launch(const Configuration&) { return {}; }
  virtual Result<TranslatedCode> translate(const Configuration& configuration) = 0;
  virtual Result<AssembledCode> assemble() = 0;  // what was translated last
};

class DeviceWork {
 public:
  // Each says whether to go on; false: end it here, with the times there are.
  struct Watch {
    // Further timed runs; none is a sign of life.
    std::function<bool(std::span<const Nanoseconds>)> timed;
    std::function<bool()> going_on;
    // The device is busy with all that can be started: there is time for something else.
    std::function<void()> waiting = {};
    // It has run as it should, and only its times are missing. True: it is left as it is for the next to begin, fetch_left() gets
    // the times, and what measure() gives is no result.
    std::function<bool()> leave = {};
  };
  virtual ~DeviceWork() = default;
  // What is likely measured next, told while another is: whatever can be done ahead. `code` tells one object from another.
  virtual void expect(const Configuration&, ByteSpan, const nlohmann::json&) {}
  // Nothing is there to be measured: others may have the device.
  virtual void idle() {}
  virtual PoolResult measure(const Configuration& configuration, ByteSpan object, const nlohmann::json& code,
                             const Watch& watch) = 0;
  // Gets the times of all that was left, best while nothing runs. On failure there is no more result of any of it.
  virtual Status fetch_left() { return {}; }
  // The result of the oldest that was left and fetched. Needs no device.
  virtual PoolResult take_left() { return {}; }
};

// While there is always a next job, the times of those that were left are fetched that often.
inline constexpr std::chrono::milliseconds kFetchAfter{50};

// A device worker's first words, so that compilation can begin before it is ready.
Status announce(Channel& channel, const DeviceProperties& device);

// Each serves until the connection closes; `work` failing is what the worker could not start for. serve_device() also ends after
// a device fault, or another failure that leaves its process of no use.
void serve_compile(Channel channel, Result<std::unique_ptr<CompileWork>> work);
void serve_device(Channel channel, Result<std::unique_ptr<DeviceWork>> work);

}  // namespace mneme
