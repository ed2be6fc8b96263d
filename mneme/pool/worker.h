// The two loops that a pool's workers run: they take messages (messages.h), have the work done, and send what comes of it. The
// work is an interface, so that tests can put something else in its place.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/pool/pool_result.h"
#include "mneme/process/channel.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct TranslatedCode {
  std::string digest;    // of everything that the object will depend on
  nlohmann::json about;  // what a result says of it: "times" by stage in ns, "specialised" by instance
};

struct AssembledCode {
  ByteVector object;           // as DeviceWork::measure() takes it
  nlohmann::json description;  // "digest" of the object, "times" by stage in ns
};

// Compiles one configuration after another, each in two steps, so that configurations which end in the same code are assembled
// once, and that several can be assembled together.
class CompileWork {
 public:
  virtual ~CompileWork() = default;
  // Why the configuration has no launch that any device could run; ok: compile it.
  virtual Status check_launch(const Configuration&) { return {}; }
  virtual Result<TranslatedCode> translate(const Configuration& configuration) = 0;
  // Keeps what was translated last for assemble(); what is not kept is forgotten with the next translation.
  virtual void keep() = 0;
  // Assembles all that was kept, each as it would be alone, in order. Nothing is kept any more then.
  virtual std::vector<Result<AssembledCode>> assemble() = 0;
};

// Measures one configuration after another on a device.
//
// A configuration may be *left*: its runs have ended and were right, and only their times are still on the device. The next one
// can then begin at once. fetch_left() gets the times of all that were left, and take_left() returns their results one by one.
class DeviceWork {
 public:
  // What measure() tells and asks while it works. `timed` and `going_on` return whether to go on; after false the measurement
  // ends with the times that there are.
  struct Watch {
    // Called with further times, while nothing runs; without times it is a sign of life. Not called with times of a configuration
    // that is left then; with those of another, fetch_left() takes no time.
    std::function<bool(std::span<const Nanoseconds>)> timed;
    // Called when the configuration was found to be right, before it is timed.
    std::function<bool()> going_on;
    // Called when the device is busy with everything that can be started, and there is time for something else. May be unset.
    std::function<void()> waiting = {};
    // Asks, after `waiting`, whether another configuration is measured next, so that the device can be made ready for it. May be
    // unset: none is.
    std::function<bool()> followed = {};
    // Asks whether to leave the configuration. After true, what measure() returns is no result. May be unset: nothing is left.
    std::function<bool()> leave = {};
  };
  virtual ~DeviceWork() = default;
  // What will likely be measured next, told while another configuration is: does ahead what can be done. Arguments as of
  // measure().
  virtual void expect(const Configuration&, ByteSpan, const nlohmann::json&) {}
  // There is nothing to measure for now: gives the device's lock up, so that another Mneme may use the device.
  virtual void idle() {}
  // `object` and `code` are AssembledCode::object and description; the "digest" of `code` tells one object from another.
  virtual PoolResult measure(const Configuration& configuration, ByteSpan object, const nlohmann::json& code,
                             const Watch& watch) = 0;
  // Gets the times of all configurations that were left, best while nothing runs. On failure these have no result any more.
  virtual Status fetch_left() { return {}; }
  // The result of the oldest configuration that was left and fetched. Needs no device.
  virtual PoolResult take_left() { return {}; }
};

// How often the times of configurations that were left are fetched while there always is a next job. One that takes long tells
// them with its own first times.
inline constexpr std::chrono::milliseconds kFetchAfter{50};

// Sends a device worker's first message, DeviceOpened, so that compilation can begin before the worker is ready.
Status announce(Channel& channel, const DeviceProperties& device);

// Serve until the connection closes. Where `work` is a failure they only send it, as WorkerRefused. serve_device() also returns
// after a device fault, or another failure after which its process is of no use.
void serve_compile(Channel channel, Result<std::unique_ptr<CompileWork>> work);
void serve_device(Channel channel, Result<std::unique_ptr<DeviceWork>> work);

}  // namespace mneme
