// Vendor: what the recorder asks of the runtime that the application was linked with, through the call table the application
// called from. Implemented by the hooks over a table, and by tests.
#pragma once

#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/record/recordable_kernel.h"

namespace mneme {

class Vendor {
 public:
  virtual ~Vendor() = default;
  virtual DeviceKind device_kind() const = 0;
  // Lets the vendor's runtime make its context before the recorder's device is opened.
  virtual Status prepare() = 0;
  virtual Result<int> current_device() = 0;
  // Waits for all of the device's work. A fault of an earlier kernel is reported here, as it is to the application later.
  virtual Status synchronize() = 0;
  // Events of the vendor's, which time its launches: one recorded in a stream now; the time between two, once both have happened.
  virtual Result<void*> record_event(void*) { return Status(Code::unsupported, "this vendor has no events"); }
  virtual std::optional<Nanoseconds> elapsed(void*, void*) { return std::nullopt; }
  virtual void destroy_event(void*) {}
  // The same from a thread of the recorder's own.
  virtual Status synchronize([[maybe_unused]] int ordinal) { return synchronize(); }
  // Where the device global `name` (in the image) of the kernel's image lies.
  virtual Result<MemoryRange> find_global(const RecordableKernel& kernel, const std::string& name) = 0;
  // Where a registered variable, not a managed one, lies; `table` is the index of the call table it was registered through.
  virtual Result<MemoryRange> find_variable(const RegisteredVariable& variable, uint32_t table) = 0;
};

}  // namespace mneme
