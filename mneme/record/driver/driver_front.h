// DriverFront: the recorder in front of the CUDA driver, in a process whose program was not built for recording.
//
// A slot of the driver's table is a plain function pointer. A handler takes the arguments of the driver's function, and calls on
// through MNEME_DRIVER. Variants of one function (for per-thread default streams) share a handler, as a template by slot:
//
//   template <mneme_driver_call kSlot>
//   CUresult on_alloc_async(CUdeviceptr* out, size_t size, CUstream stream) { … next<kSlot, F>(out, size, stream) … }
//   constexpr DriverHook kHooks[] =
//   {hook<MNEME_DRIVER_CALL_cuMemAllocAsync>(&on_alloc_async<MNEME_DRIVER_CALL_cuMemAllocAsync>)};
#pragma once

#include <cuda.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "mneme/abi/call_table.h"
#include "mneme/abi/driver_table.h"
#include "mneme/hooks/driver_behind.h"
#include "mneme/hooks/driver_hooks.h"
#include "mneme/record/process.h"
#include "mneme/record/recorder.h"

namespace mneme::driver {

// What the recorder asks of the driver. Looks the functions up that it calls itself, so that none of them goes through a slot.
class DriverFront final : public Vendor, public DriverBehind {
 public:
  // unavailable: the driver lacks a function that recording needs.
  Status attach(mneme_driver_table& table);

  DeviceKind device_kind() const override { return DeviceKind::cuda; }
  Status prepare() override { return {}; }  // the program has made its context before it calls what leads here
  Result<int> current_device() override;
  Result<TexturePlace> current_place() override;
  // Waits for the work in all contexts of the device: in the primary one, and in those that the program has made itself.
  Status synchronize(int ordinal) override;
  std::optional<NotRecorded> refuse_stream(void* stream) override;
  Result<void*> record_event(void* stream) override;
  std::optional<Nanoseconds> elapsed(void* start, void* end) override;
  bool has_happened(void* event) override;
  void destroy_event(void* event) override;
  Result<MemoryRange> find_global(const RecordableKernel& kernel, const std::string& name) override;
  const Registry* host_variables() const override;
  bool shares_memory() const override { return true; }
  Status read_variable(Stream& stream, MutableByteSpan to, DevicePtr from) override;
  Result<MemoryRange> find_variable(const RegisteredVariable& variable, uint32_t table) override;
  Result<std::vector<Parameter>> parameters_of(const void* function) override;
  bool reaches_pageable_memory() override;
  bool is_memory(DevicePtr address) override;
  LaunchLimits limits() override;
  Status copy_array(DevicePtr to, const ProgramArray& array) override;

  // Whether calls for the stream go into a graph. Always false while the recorder knows of no capture.
  bool is_capturing(CUstream stream) const;
  CUcontext current_context() const;
  bool in_primary_context();  // of the current device
  // Calls `work` in a thread of its own, in which the context of this one is current, and waits for it.
  void run_in_own_thread(const std::function<void()>& work) const;

  // Pools that the program makes, of a device's memory and with no more to them, such as that other processes may share it.
  void add_pool(CUmemoryPool pool, int device);
  // Returns the devices that reach the pool's memory, unless some is allocated still.
  std::set<int> forget_pool(CUmemoryPool pool);
  // The device of a plain pool: of one of these, or of a device's own one.
  std::optional<int> device_of_pool(CUmemoryPool pool) const;
  // Whether what is allocated in this stream comes from a plain pool of the current device: from `pool`, or, where that is null,
  // from the pool that the device uses.
  bool allocates_from_plain_pool(CUstream stream, CUmemoryPool pool = nullptr) const;
  // Notes whether a device reaches a pool. Returns whether that has changed.
  bool set_pool_access(CUmemoryPool pool, int reader, bool reaches);
  // Remembers memory that was allocated in the stream from a pool of the program's: from `pool`, or, where that is null, from the
  // one that the device uses.
  void add_pool_memory(CUmemoryPool pool, CUdeviceptr address);
  // The pool that an address was allocated from, whichever; null: from none.
  CUmemoryPool pool_of_memory(CUdeviceptr address) const;
  // Kernels of one device reach memory of another one.
  struct Access {
    int owner = 0, reader = 0;
  };
  // Notes that the current context reaches a context of another device. Returns whether it did not before.
  bool add_peer(CUcontext owner, int owner_device, int reader_device);
  std::optional<Access> remove_peer(CUcontext owner);
  // The other devices whose contexts reach a context.
  std::set<int> readers_of(CUcontext owner) const;
  // The device that a context is on.
  Result<int> device_of(CUcontext context) const;

  // Contexts that the program makes itself (cuCtxCreate), and destroys.
  void add_context(CUcontext context, CUdevice device);
  // How often the program holds such a context (cuCtxAttach, cuCtxDetach): `change` is 1 or -1, and what is returned is the
  // number after it. Nothing: it is none of them.
  std::optional<int> count_own(CUcontext context, int change);
  // Whether the program has a context of its own on the device.
  bool has_own_context(CUdevice device) const;
  // What lives no longer than a context: images that were loaded into it, and memory that was allocated in it.
  struct Belongings {
    std::set<const void*> images;
    std::set<CUdeviceptr> memory;
    std::vector<Access> peers;  // of the context, either way
  };
  // Forgets a context, and returns what belonged to it.
  Belongings forget_context(CUcontext context);
  // Forgets the primary context of a device, which the recorder then no longer retains, and returns what belonged to it.
  Belongings forget_primary_context(CUdevice device);
  // How often the program holds a primary context: `change` is 1 or -1, and what is returned is the number after it.
  int count_primary(CUdevice device, int change);
  bool holds_primary(CUdevice device) const;
  // Remembers what belongs to the current context.
  void add_image(const void* handle);
  void add_memory(CUdeviceptr address);
  void forget_memory(CUdeviceptr address);
  // The context to which that address was added; null: to none.
  CUcontext context_of_memory(CUdeviceptr address) const;
  void see_green_context() { green_contexts_ = true; }

  // Whether the host may reach managed memory while kernels of the current device run.
  bool shares_managed_memory() const;
  bool is_managed(DevicePtr address) const override;

 private:
  struct Functions;
  Result<MemoryRange> find_global(const RegisteredImage& image, const std::string& name) const;
  Result<CUcontext> primary_context(CUdevice device);
  Status synchronize(CUcontext context) const;

  const Functions* functions_ = nullptr;
  mutable std::mutex mutex_;
  std::map<CUdevice, CUcontext> primary_;  // retained, as the recorder's device does
  std::map<CUdevice, int> primary_uses_;   // of the program
  struct OwnContext {
    CUdevice device = 0;
    int uses = 1;
  };
  std::map<CUcontext, OwnContext> own_;  // that the program has made
  std::map<CUmemoryPool, int> pools_;    // likewise, and on which device
  std::set<std::pair<CUmemoryPool, int>> pool_readers_;
  std::map<CUdeviceptr, CUmemoryPool> pool_memory_;  // from these, or from a device's own
  struct Peers {
    CUcontext owner = nullptr, reader = nullptr;
    friend auto operator<=>(const Peers&, const Peers&) = default;
  };
  std::map<Peers, Access> peers_;
  std::map<CUcontext, Belongings> belongings_;
  std::atomic<bool> green_contexts_ = false;  // there are some
};

// The front of this process; never destroyed.
DriverFront& front();

// The driver's own function behind a slot, with the type of a function that has the same signature.
#define MNEME_DRIVER(slot, like) (reinterpret_cast<decltype(&::like)>(::mneme::driver::front().real(MNEME_DRIVER_CALL_##slot)))

template <mneme_driver_call kSlot, typename F, typename... A>
CUresult next(A... arguments) {
  return reinterpret_cast<F>(front().real(kSlot))(arguments...);
}

// Forgets what was loaded under this handle, and its kernels.
void forget_image(const void* handle);

// The kinds of calls that are hooked. A function is added to the list at the end of the file.
std::vector<DriverHook> image_hooks();          // hooks_images.cc: loading of code
std::vector<DriverHook> context_hooks();        // hooks_contexts.cc: contexts
std::vector<DriverHook> peer_hooks();           // hooks_contexts.cc: which contexts reach the memory of others
std::vector<DriverHook> memory_hooks();         // hooks_memory.cc: device memory
std::vector<DriverHook> texture_hooks();        // hooks_textures.cc: textures, surfaces and arrays
std::vector<DriverHook> mapped_memory_hooks();  // hooks_mapped_memory.cc: memory that the program maps itself
std::vector<DriverHook> sharing_hooks();        // hooks_ipc.cc: memory that is given to other processes
std::vector<DriverHook> opening_hooks();        // hooks_ipc.cc: memory of other processes
std::vector<DriverHook> host_memory_hooks();    // hooks_host_memory.cc: host memory that kernels reach
std::vector<DriverHook> launch_hooks();         // hooks_launch.cc: launches, and capturing of streams
std::vector<DriverHook> graph_hooks();          // hooks_graphs.cc: graphs that are run
std::vector<DriverHook> write_hooks();          // hooks_writes.cc: other calls that write memory

// Forgets the executable graphs that were made on a device, as a reset destroys them.
void forget_graphs(int device);

// Has the recorder told what a program that was built for recording annotates, and which variables it registers with its CUDA
// runtime. `table` is one that was accepted.
void take_annotations(mneme_call_table& table);
// Gives the recorder what was annotated before it was made.
void give_early_annotations();

// Has a process that is not recorded open memory of those that are.
Status attach_opening(mneme_driver_table& table);

// Replaces the slots of the table. Fails as DriverFront::attach() does, and then leaves it alone.
Status attach_driver(mneme_driver_table& table);

}  // namespace mneme::driver
