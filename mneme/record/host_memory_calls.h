// How host memory that kernels reach comes and goes, whatever the program calls for it. The vendor's own functions are given as
// functions without arguments that return its code, which is 0 for success.
#pragma once

#include <type_traits>

#include "mneme/record/process.h"
#include "mneme/record/recorder.h"

namespace mneme {

inline DevicePtr host_address(const void* pointer) { return DevicePtr(reinterpret_cast<uint64_t>(pointer)); }

// Serves memory from the recorder's range, where the flags are among those that are known; `pin` pins whole pages, and says
// whether that went well. Otherwise it is what `original` leaves in *out.
template <typename Pin, typename Original>
auto allocate_host_memory(void** out, size_t size, unsigned flags, unsigned known_flags, Pin pin, Original original) {
  constexpr size_t kPage = kHostPage.count;
  HostMemory& host = recorder()->host_memory();
  if (out && size != 0 && (flags & ~known_flags) == 0 && recorder()->is_recording()) {
    if (auto memory = host.serve(Bytes(size)); memory.ok()) {
      void* const pointer = reinterpret_cast<void*>(memory->address);
      if (pin(pointer, (size + kPage - 1) / kPage * kPage)) {
        host.add(*memory, Bytes(size), flags);
        *out = pointer;
        return decltype(original()){};
      }
      host.take_back(*memory);
    }
  }
  const auto code = original();
  if (code == decltype(code){} && out) recorder()->remember_foreign(host_address(*out).address, size, NotRecorded::host_memory);
  return code;
}

// Frees it. `invalid` is the code for a pointer where none begins. `fault` gives that of a fault which keeps the devices from
// being waited for, and `unpin` is the other end of `pin`.
template <typename Code, typename Original, typename Fault, typename Unpin>
Code free_host_memory(Vendor& vendor, void* pointer, Code invalid, Original original, Fault fault, Unpin unpin) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = host_address(pointer);
  if (!pointer || !host.owns(address.address)) {
    recorder()->forget_foreign(address.address);
    return original();
  }
  const auto pinned = host.find(address);
  if (!pinned) return invalid;
  const Gate::Use use(recorder()->gate());
  // While a stream is captured nothing may wait for the device, and what kernels may be using stays: its place is not used again.
  const bool waits = !recorder()->in_stream_capture();
  if (waits && !recorder()->wait_for_devices(vendor).ok()) return fault();
  recorder()->forget_annotations({address, pinned->size});
  host.remove(address);
  if (!waits) return Code{};
  const Code code = unpin();
  host.take_back(address);
  return code;
}

// Notes memory that the program has registered; `is_io`: it is another device's registers.
inline void add_registered_memory(void* pointer, size_t size, unsigned flags, bool is_io) {
  if (is_io)
    recorder()->remember_foreign(host_address(pointer).address, size, NotRecorded::host_memory);
  else
    recorder()->host_memory().add(host_address(pointer), Bytes(size), flags);
}

// Forgets such memory. `not_registered` is the code for memory that the program has not registered, and the recorder has.
template <typename Code, typename Original>
Code unregister_memory(void* pointer, Code not_registered, Original original) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = host_address(pointer);
  if (host.owns(address.address)) return not_registered;
  const Gate::Use use(recorder()->gate());
  if (const auto pinned = host.remove(address)) recorder()->forget_annotations({address, pinned->size});
  recorder()->forget_foreign(address.address);
  return original();
}

// The memory that was served, pinned as the program asked for it, around an address; nothing for any other.
inline std::optional<HostMemory::Pinned> find_served_memory(const void* pointer) {
  HostMemory& host = recorder()->host_memory();
  const DevicePtr address = host_address(pointer);
  const auto memory = host.owns(address.address) ? host.find_around(address) : std::nullopt;
  return memory ? host.find(memory->address) : std::nullopt;
}

}  // namespace mneme
