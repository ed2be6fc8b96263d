// Vendor: what the recorder asks of the CUDA runtime that the application was linked with, or of the emulation in its place.
// Implemented by Table, over the call table that the application called through, by DriverFront, over the
// driver that the application called, and by tests.
#pragma once

#include <optional>
#include <string>

#include "mneme/base/launch_limits.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/record/program_textures.h"
#include "mneme/record/recordable_kernel.h"

namespace mneme {

class Vendor {
 public:
  virtual ~Vendor() = default;
  virtual DeviceKind device_kind() const = 0;
  // Lets the vendor's runtime make its context before the recorder's device is opened.
  virtual Status prepare() = 0;
  virtual Result<int> current_device() = 0;
  // Where an object that the program makes now is, and a launch that it makes runs.
  virtual Result<TexturePlace> current_place() {
    MNEME_ASSIGN(const int device, current_device());
    return TexturePlace{device, nullptr};
  }
  // Waits for all work of the program on device `ordinal`, from any thread, whose current device stays as it is. A fault of an
  // earlier kernel is reported here, as the application meets it later.
  virtual Status synchronize(int ordinal) = 0;
  // Why a launch into this stream, made now, is not recorded; nothing: it runs on the current device as others do.
  virtual std::optional<NotRecorded> refuse_stream([[maybe_unused]] void* stream) { return std::nullopt; }
  // The vendor's events, which time launches. record_event() makes one and records it in the stream. elapsed() gives the time
  // between two, or nothing while one of them has not happened.
  virtual Result<void*> record_event(void*) { return Status(Code::unsupported, "this vendor has no events"); }
  virtual std::optional<Nanoseconds> elapsed(void*, void*) { return std::nullopt; }
  virtual void destroy_event(void*) {}
  // Whether all that came before the event in its stream is done, or has failed.
  virtual bool has_happened(void*) { return true; }
  // Where the kernel's image has the device global of that name. `name` is the one in the image, not the one in the IR.
  virtual Result<MemoryRange> find_global(const RecordableKernel& kernel, const std::string& name) = 0;
  // Whether the program's processes may share memory that is allocated on the device.
  virtual bool shares_memory() const { return false; }
  // Whether an address lies in managed memory that the host may reach while kernels run.
  virtual bool is_managed([[maybe_unused]] DevicePtr address) const { return false; }
  // Whether kernels of the current device reach pageable memory of the host: what the program has of malloc, on the stack or by
  // mmap, and has told nobody of.
  virtual bool reaches_pageable_memory() { return false; }
  // Whether there is memory at the address that was allocated or registered by the vendor.
  virtual bool is_memory([[maybe_unused]] DevicePtr address) { return false; }
  // Whether an address lies in memory of a device, whoever has allocated it. False where the vendor does not tell, or where the
  // recorder sees all that is allocated.
  virtual bool is_device_memory([[maybe_unused]] DevicePtr address) { return false; }
  // Where a registered variable lies, which must not be a managed one. `table` is the index of the call table through which it
  // was registered.
  virtual Result<MemoryRange> find_variable(const RegisteredVariable& variable, uint32_t table) = 0;
  // What the current context gives to kernels; zeros where that is not known.
  virtual LaunchLimits limits() { return {}; }
  // What the program has registered with a CUDA runtime of its own, where the recorder's registry has the images that a driver
  // loads: the variables whose addresses on the host it knows. Null: the recorder's registry has them.
  virtual const Registry* host_variables() const { return nullptr; }
  // Copies from a variable that find_global() has found. A vendor whose variables the recorder's device reads leaves it to that
  // one.
  virtual Status read_variable(Stream& stream, MutableByteSpan to, DevicePtr from) { return stream.copy_to_host(to, from); }
  // Copies all levels of an array to memory of the current device, as levels_of() says. The device must be idle; complete on
  // return.
  virtual Status copy_array(DevicePtr, const ProgramArray&) {
    return Status(Code::unsupported, "this vendor does not copy arrays");
  }
  // Offset and size of each parameter of a kernel of which no more is known. unsupported: this vendor does not tell.
  virtual Result<std::vector<Parameter>> parameters_of(const void* function) {
    return Status(Code::unsupported, "this vendor does not tell how a kernel's parameters lie");
  }
};

}  // namespace mneme
