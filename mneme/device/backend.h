// Backend: what the rooms above ask of a kind of device before a device of that kind is open.
//
// Every kind joins by one row of the table in backends.cc; the code generator of a kind joins by one row of its own
// (mneme/compile/backend.h). Whoever would tell one kind from another asks for a member of its row instead, so that a new kind
// changes no caller. docs/developer.md, "Add a backend", lists what is to be edited.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/launch_limits.h"
#include "mneme/base/status.h"
#include "mneme/device/code_image.h"
#include "mneme/device/device.h"

namespace mneme {

// Who asks for a kind of device by its name.
enum class Audience {
  users,  // the commands and the Python package offer the kind, and "auto" may choose it
  tests,  // only code that names the kind gets it
};

// What kernels of a kind run on.
enum class Hardware {
  own,   // on hardware of their own, which only an open device can describe
  host,  // on the processors of this machine: no device of the kind has a cache that a replay prepares, or can be locked
};

// When the call that launches a kernel returns.
enum class LaunchReturn { when_queued, when_done };

struct Backend {
  DeviceKind kind = DeviceKind::fake;
  std::string_view name = {};     // in options, configurations and recordings: "cuda"
  std::string_view title = {};    // in sentences: "CUDA device"
  std::string_view missing = {};  // in sentences, where find() fails: "no NVIDIA driver"
  Audience audience = Audience::users;
  Hardware hardware = Hardware::own;
  LaunchReturn launch_return = LaunchReturn::when_queued;
  // The vendor's runtime whose programs alone run on the kind: "CUDA"; empty: those of any.
  std::string_view runtime = {};
  // The library in Mneme's own libdir that implements the CUDA runtime for programs on this kind of device; empty where the
  // vendor's own runtime does.
  std::string_view interposer = {};
  // The vendor's driver that programs may call past its runtime, and at which those are recorded that nobody has rebuilt:
  // "libcuda.so.1". Empty where there is none.
  std::string_view driver = {};
  // The file in which the system tells the driver's version, beside other words; empty where there is no driver.
  std::string_view driver_version_file = {};
  // ok where this machine has the software by which devices of the kind are reached, such as a driver; else unavailable, with
  // what is missing.
  Status (*find)() = nullptr;
  // Whether a device is there beyond doubt, as the system shows without the software being started; false: count() is to be
  // asked. Null where counting takes nothing.
  bool (*is_shown)() = nullptr;
  // How many devices there are, without opening any. Fails where find() does.
  Result<int> (*count)() = nullptr;
  // Opens a device. unavailable, with the reason and advice: there is no such device.
  Result<std::unique_ptr<Device>> (*open)(int ordinal) = nullptr;
  // Does the work of order_blocks() (block_order.h) for a device of the kind; null where the hardware chooses the order.
  bool (*order_blocks)(Device& device, std::optional<uint64_t> seed) = nullptr;
  // Does the work of raise_limits() (launch_limits.h) for a device of the kind; null where it has no such limits.
  Status (*raise_limits)(Device& device, const LaunchLimits& limits) = nullptr;
};

// The table, in the order in which "auto" tries the rows.
std::span<const Backend> backends();
// The row of a kind. To ask for a kind that has no row is a defect of the caller, who gets the fake device's row.
const Backend& backend_of(DeviceKind kind);
// The names that users may give, in the order of the table: "cuda", "hip", "cpu".
std::vector<std::string> user_device_names();

// What "auto" accepts as a proof that devices of a kind can be used.
enum class Proof {
  shown,    // the system shows that there is one, or else as `counted`: for whom another process is to use it
  counted,  // there is at least one device; none is opened
  opened,   // the first device opens
};

// A row that "auto" has not chosen.
struct PassedOver {
  DeviceKind kind;
  bool missing;   // find() has failed, as it does on most machines; else something is wrong with what is there
  Status reason;  // never ok
};

struct AutomaticDevice {
  DeviceKind kind;
  std::unique_ptr<Device> device;  // with Proof::opened; else null
  std::vector<PassedOver> passed;  // the rows for users before the chosen one, in their order
};

// ok: there is a device of the kind, as Proof::shown has it. unavailable: there is none. Fails where Backend::find() does.
Status check_shown(DeviceKind kind);

// Whether programs that call this vendor's runtime run on the kind. Empty: it is not known which one a program calls.
bool runs_programs_of(const Backend& backend, std::string_view runtime);

// What "auto" stands for on this machine, for programs that call this runtime: the first row for users that gives the proof.
// unavailable, with the reason of each row: none does. Only tests give another `table`.
Result<AutomaticDevice> choose_automatically(Proof proof, std::span<const Backend> table = backends(),
                                             std::string_view runtime = {});

}  // namespace mneme
