// For tests: a program with one call table over a CUDA runtime that lives in host memory, and a recorder over the fake device.
//
//   FakeProgram program;
//   int* data = program.allocate<int>(1000);
//   program.launch(program.increment, data, 1000);
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/device/fake/fake_device.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/record/table.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme::testing {

using KernelBody = std::function<cudaError_t(void** arguments)>;

// The state of the vendor's runtime: functions in slots have no context.
struct FakeRuntime {
  std::map<const void*, KernelBody> kernels;
  std::set<void*> allocations;
  std::map<std::string, std::pair<void*, size_t>> globals;
  std::map<const void*, std::pair<void*, size_t>> symbols;
  std::map<void*, size_t> registered;
  std::map<void*, unsigned> host_allocations;
  void* foreign = nullptr;  // what pools, other processes and interfaces give
  bool cannot_register = false;
  bool shares_managed = false;    // host and device may reach managed memory at once
  bool reaches_pageable = false;  // kernels reach memory of the host that nobody has registered
  cudaError_t last_error = cudaSuccess;
  std::atomic<bool> busy = false;  // the device's work does not end
  std::function<void()> pending;   // work of the device that ends only when it is waited for
  int pending_on = 0;              // the device that does it
  int device = 0;
  int synchronizations = 0;
  std::atomic<int> questions = 0;  // which device is current, and whether a stream is captured
  cudaError_t fault = cudaSuccess;
  cudaError_t lost = cudaSuccess;  // what every look at the device gives
  bool out_of_memory = false;
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  cudaError_t begin_of_capture = cudaSuccess;
  cudaError_t end_of_capture = cudaSuccess;
  std::vector<cudaStream_t> event_streams;  // in which events were recorded
  std::set<cudaEvent_t> events;
  bool cannot_record_events = false;
  std::optional<float> milliseconds;  // between two events; nothing: they have not happened
};
inline FakeRuntime* runtime = nullptr;
inline thread_local int device_of_thread = 0;  // as the vendor keeps it: a new thread is on the first device

namespace fake_calls {
inline long nothing() { return 0; }
inline cudaError_t malloc(void** out, size_t size) {
  if (runtime->out_of_memory) return cudaErrorMemoryAllocation;
  runtime->allocations.insert(*out = std::calloc(1, size + 1));
  return cudaSuccess;
}
inline cudaError_t malloc_managed(void** out, size_t size, unsigned) { return fake_calls::malloc(out, size); }
// Rows without room between them.
inline cudaError_t malloc_pitch(void** out, size_t* pitch, size_t width, size_t height) {
  return *pitch = width, fake_calls::malloc(out, width * height);
}
inline cudaError_t malloc_3d(cudaPitchedPtr* out, cudaExtent extent) {
  *out = {nullptr, extent.width, extent.width, extent.height};
  return fake_calls::malloc(&out->ptr, extent.width * extent.height * extent.depth);
}
inline cudaError_t graphics_pointer(void** out, size_t* size, cudaGraphicsResource_t) {
  return *out = runtime->foreign, *size = 4096, cudaSuccess;
}
inline cudaError_t foreign(void** out) { return *out = runtime->foreign, cudaSuccess; }
inline cudaError_t free(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (runtime->allocations.erase(pointer) == 0) return cudaErrorInvalidValue;
  std::free(pointer);
  return cudaSuccess;
}
inline cudaError_t synchronize() {
  while (runtime && runtime->busy) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (runtime && runtime->pending && runtime->pending_on == device_of_thread) std::exchange(runtime->pending, nullptr)();
  return ++runtime->synchronizations, runtime->fault;
}
inline cudaError_t fails(cudaError_t code) { return runtime->last_error = code; }
inline cudaError_t peek_error() { return runtime->last_error; }
inline cudaError_t take_error() { return std::exchange(runtime->last_error, cudaSuccess); }
inline cudaError_t host_alloc(void** out, size_t size, unsigned flags) {
  fake_calls::malloc(out, size);
  return runtime->host_allocations[*out] = flags, cudaSuccess;
}
inline cudaError_t malloc_host(void** out, size_t size) { return host_alloc(out, size, 0); }
inline cudaError_t free_host(void* pointer) { return runtime->host_allocations.erase(pointer), fake_calls::free(pointer); }
inline cudaError_t host_register(void* pointer, size_t size, unsigned) {
  if (runtime->cannot_register) return fails(cudaErrorNotSupported);
  return runtime->registered[pointer] = size, cudaSuccess;
}
inline cudaError_t host_unregister(void* pointer) {
  return runtime->registered.erase(pointer) != 0 ? cudaSuccess : fails(cudaErrorHostMemoryNotRegistered);
}
inline cudaError_t host_get_flags(unsigned* flags, void* pointer) {
  return *flags = 100 + runtime->host_allocations.at(pointer), cudaSuccess;
}
inline cudaError_t set_device(int device) { return device_of_thread = device, cudaSuccess; }
inline cudaError_t get_device(int* device) { return ++runtime->questions, *device = runtime->device, runtime->lost; }
inline cudaError_t get_attribute(int* value, cudaDeviceAttr attribute, int) {
  *value = (attribute == cudaDevAttrConcurrentManagedAccess && runtime->shares_managed) ||
           (attribute == cudaDevAttrPageableMemoryAccess && runtime->reaches_pageable);
  return cudaSuccess;
}
// Knows memory that it has allocated, by its first byte, and variables.
inline cudaError_t get_pointer_attributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto is_variable = [&](const auto& global) { return global.second.first == pointer; };
  const bool known =
      runtime->allocations.contains(const_cast<void*>(pointer)) || std::ranges::any_of(runtime->globals, is_variable);
  *attributes = {};
  attributes->type = known ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
inline cudaError_t copy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  return std::memcpy(to, from, size), cudaSuccess;
}
inline cudaError_t launch(const void* function, dim3, dim3, void** arguments, size_t, cudaStream_t) {
  return runtime->kernels.at(function)(arguments);
}
inline cudaError_t launch_extended(const cudaLaunchConfig_t*, const void* function, void** arguments) {
  return runtime->kernels.at(function)(arguments);
}
inline cudaError_t is_capturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return ++runtime->questions, *status = runtime->capturing, cudaSuccess;
}
inline cudaError_t begin_capture(cudaStream_t, cudaStreamCaptureMode) {
  if (runtime->begin_of_capture != cudaSuccess) return runtime->begin_of_capture;
  return runtime->capturing = cudaStreamCaptureStatusActive, cudaSuccess;
}
inline cudaError_t begin_capture_to_graph(cudaStream_t, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*, size_t,
                                          cudaStreamCaptureMode mode) {
  return begin_capture(nullptr, mode);
}
inline cudaError_t end_capture(cudaStream_t, cudaGraph_t*) {
  return runtime->capturing = cudaStreamCaptureStatusNone, runtime->end_of_capture;
}
inline cudaError_t destroy_stream(cudaStream_t) { return runtime->capturing = cudaStreamCaptureStatusNone, cudaSuccess; }
inline cudaError_t make_event(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new char);
  return runtime->events.insert(*event), cudaSuccess;
}
inline cudaError_t record_event(cudaEvent_t, cudaStream_t stream) {
  if (runtime->cannot_record_events) return fails(cudaErrorNotSupported);
  return runtime->event_streams.push_back(stream), cudaSuccess;
}
inline cudaError_t elapsed_time(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  if (!runtime->milliseconds) return fails(cudaErrorNotReady);
  return *milliseconds = *runtime->milliseconds, cudaSuccess;
}
inline cudaError_t destroy_event(cudaEvent_t event) {
  if (runtime->events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
  return delete reinterpret_cast<char*>(event), cudaSuccess;
}
inline void** register_image(void* wrapper) { return new void*(wrapper); }
// By the host variable.
inline cudaError_t symbol_address(void** address, const void* symbol) {
  auto found = runtime->symbols.find(symbol);
  if (found == runtime->symbols.end()) return fails(cudaErrorInvalidSymbol);
  return *address = found->second.first, cudaSuccess;
}
inline cudaError_t symbol_size(size_t* size, const void* symbol) {
  return *size = runtime->symbols.at(symbol).second, cudaSuccess;
}
inline int find_global(const void*, const char* name, uint64_t* address, uint64_t* size) {
  auto found = runtime->globals.find(name);
  if (found == runtime->globals.end()) return 1;
  *address = reinterpret_cast<uint64_t>(found->second.first);
  *size = found->second.second;
  return 0;
}
}  // namespace fake_calls

// Options that record every launch with all memory.
inline RecordingOptions with_all_memory() {
  RecordingOptions options;
  options.memory_extent = MemoryExtent::all;
  return options;
}

class FakeProgram {
 public:
  // `vendor` may replace functions of the vendor's runtime before the recorder sees them.
  explicit FakeProgram(RecordingOptions options = {}, std::function<void(Recorder::Environment&)> adjust = {},
                       std::function<void(std::vector<mneme_function>& slots)> vendor = {}) {
    runtime = &runtime_;
    if (options.database.empty()) {
      directory_ = temporary_.emplace().path();
      options.database = (directory_ / "db").string();
    }
    options.address_space = 64_MiB;
    auto mapping = RecordingReportMapping::create();
    mapping_.emplace(std::move(*mapping));
    Recorder::Environment environment;
    environment.report = &**mapping_;
    environment.patience = std::chrono::milliseconds(200);
    environment.open_device = [this](DeviceKind, int) -> Result<std::unique_ptr<Device>> {
      auto device = std::make_unique<fake::FakeDevice>();
      device->set_failures(failures);
      device_ = device.get();
      return std::unique_ptr<Device>(std::move(device));
    };
    if (adjust) adjust(environment);
    recorder_ = std::make_unique<Recorder>(options, environment);
    set_recorder(recorder_.get());
    make_table(vendor);
    if (Status status = attach_table(table_); !status.ok()) std::abort();
    register_kernels();
  }
  ~FakeProgram() {
    set_recorder(nullptr);
    recorder_.reset();
    ::close(mapping_->descriptor());
  }

  // Host stubs: only their addresses count.
  const void* increment = "increment";  // (int* data, int n): every element
  const void* add_table = "add_table";  // (int* data): the global `table` to the first elements
  const void* plain = "plain";          // its image has no segments
  const void* managed_reader = "managed_reader";
  const void* texture_reader = "texture_reader";
  const void* heap_user = "heap_user";
  const void* launcher = "launcher";    // of other kernels
  const void* two_names = "two_names";  // reads the global `table` by two names

  template <typename T>
  T* allocate(size_t count) {
    void* out = nullptr;
    cudaError_t code = call<decltype(cudaMalloc)>(MNEME_CALL_cudaMalloc, &out, count * sizeof(T));
    return code == cudaSuccess ? static_cast<T*>(out) : nullptr;
  }
  cudaError_t free(void* pointer) { return call<decltype(cudaFree)>(MNEME_CALL_cudaFree, pointer); }
  cudaError_t launch(const void* kernel, int* data, int n = 0, cudaStream_t stream = nullptr) {
    void* arguments[] = {&data, &n};
    const cudaError_t code = call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, kernel, dim3(1), dim3(32),
                                                              static_cast<void**>(arguments), size_t{0}, stream);
    if (!goes_on) recorder_->wait_until_stored();
    return code;
  }
  bool goes_on = false;  // while launches are being stored; else launch() returns when its own is

  // What the slots end in from now on: the emulation at first, else a vendor's runtime, whose managed memory is not the
  // recorder's.
  void end_in(mneme_table_device device) { table_.device = device; }

  template <typename F, typename... A>
  cudaError_t call(mneme_call slot, A... arguments) {
    return reinterpret_cast<F*>(slots_[slot])(arguments...);
  }

  // Registers an image with these segments, and a kernel for each stub, which is its name, too.
  void** add_image(const std::vector<ByteVector>& segments, const std::vector<const void*>& stubs) {
    return add_fat_binary(make_fat_binary({{2, 90, make_device_elf(segments)}}), stubs);
  }
  void** add_fat_binary(ByteVector fat_binary, const std::vector<const void*>& stubs) {
    images_.push_back(std::move(fat_binary));
    wrappers_.push_back(std::make_unique<TestWrapper>());
    wrappers_.back()->fat_binary = images_.back().data();
    auto add = reinterpret_cast<decltype(&__cudaRegisterFatBinary)>(slots_[MNEME_CALL___cudaRegisterFatBinary]);
    auto name = reinterpret_cast<decltype(&__cudaRegisterFunction)>(slots_[MNEME_CALL___cudaRegisterFunction]);
    void** handle = add(wrappers_.back().get());
    for (const void* stub : stubs)
      name(handle, static_cast<const char*>(stub), nullptr, static_cast<const char*>(stub), -1, nullptr, nullptr, nullptr,
           nullptr, nullptr);
    return handle;
  }

  void remove_image(void** handle) {
    reinterpret_cast<decltype(&__cudaUnregisterFatBinary)>(slots_[MNEME_CALL___cudaUnregisterFatBinary])(handle);
  }
  void add_variable(void** handle, void* shadow, const char* name, size_t size) {
    reinterpret_cast<decltype(&__cudaRegisterVar)>(slots_[MNEME_CALL___cudaRegisterVar])(handle, static_cast<char*>(shadow),
                                                                                         nullptr, name, 0, size, 0, 0);
  }
  void add_managed_variable(void** handle, void* pointer, const char* name, size_t size) {
    reinterpret_cast<decltype(&__cudaRegisterManagedVar)>(slots_[MNEME_CALL___cudaRegisterManagedVar])(
        handle, static_cast<void**>(pointer), nullptr, name, 0, size, 0, 0);
  }
  // Of a kernel with the parameters (int* data, int n).
  ByteVector segment(const char* name, std::vector<TestGlobal> globals, uint64_t uses = 0) {
    TestSegment segment;
    segment.name = name;
    segment.uses = uses;
    segment.parameters = {{MNEME_PARAM_POINTER, 0, 8, "data"}, {MNEME_PARAM_INTEGER, 8, 4, "n"}};
    segment.parameter_bytes = 12;
    segment.globals = std::move(globals);
    ByteVector bytes = segment.build();
    // Each kernel has a hash of its own.
    bytes[offsetof(mneme_segment_header, static_hash)] = static_cast<std::byte>(++hashes_);
    return bytes;
  }

  uint64_t count(NotRecorded reason) const {
    recorder_->wait_until_stored();
    return (*mapping_)->not_recorded[static_cast<size_t>(reason)].launches;
  }
  void wait_until_written() const { recorder_->wait_until_written(); }
  const RecordingReport& report_now() const { return **mapping_; }
  const RecordingReport& report() const {
    recorder_->wait_until_stored();
    return **mapping_;
  }
  FakeRuntime& vendor() { return runtime_; }
  fake::FakeDevice& device() { return *device_; }
  mneme_call_table& call_table() { return table_; }
  Path database() const { return directory_ / "db"; }
  // All instances in the database, each checked to be whole.
  std::vector<InstanceRecord> instances() const {
    recorder_->wait_until_stored();
    std::vector<InstanceRecord> all;
    auto database = Database::open(directory_ / "db");
    if (!database.ok()) return all;
    auto listing = database->list();
    for (const KernelDocument& document : listing->kernels) {
      for (const InstanceRecord& instance : document.instances) {
        Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
        EXPECT_TRUE(whole.ok()) << whole.message();
        all.push_back(instance);
      }
    }
    return all;
  }

  fake::FailureScript failures;  // of the recorder's device; set before the first allocation

 private:
  template <typename F>
  void set(mneme_call slot, F* function) {
    slots_[slot] = reinterpret_cast<mneme_function>(function);
  }

  void make_table(const std::function<void(std::vector<mneme_function>& slots)>& vendor) {
    slots_.assign(MNEME_CALL_COUNT, reinterpret_cast<mneme_function>(&fake_calls::nothing));
    set(MNEME_CALL_cudaMalloc, fake_calls::malloc);
    set(MNEME_CALL_cudaMallocManaged, fake_calls::malloc_managed);
    for (mneme_call slot :
         {MNEME_CALL_cudaMallocAsync, MNEME_CALL_cudaMallocAsync_ptsz, MNEME_CALL_cudaMallocFromPoolAsync,
          MNEME_CALL_cudaMallocFromPoolAsync_ptsz, MNEME_CALL_cudaIpcOpenMemHandle, MNEME_CALL_cudaExternalMemoryGetMappedBuffer})
      set(slot, fake_calls::foreign);
    set(MNEME_CALL_cudaMallocPitch, fake_calls::malloc_pitch);
    set(MNEME_CALL_cudaMalloc3D, fake_calls::malloc_3d);
    set(MNEME_CALL_cudaGraphicsResourceGetMappedPointer, fake_calls::graphics_pointer);
    set(MNEME_CALL_cudaFree, fake_calls::free);
    set(MNEME_CALL_cudaDeviceSynchronize, fake_calls::synchronize);
    set(MNEME_CALL_cudaGetDevice, fake_calls::get_device);
    set(MNEME_CALL_cudaDeviceGetAttribute, fake_calls::get_attribute);
    set(MNEME_CALL_cudaPointerGetAttributes, fake_calls::get_pointer_attributes);
    set(MNEME_CALL_cudaSetDevice, fake_calls::set_device);
    set(MNEME_CALL_cudaPeekAtLastError, fake_calls::peek_error);
    set(MNEME_CALL_cudaGetLastError, fake_calls::take_error);
    set(MNEME_CALL_cudaHostAlloc, fake_calls::host_alloc);
    set(MNEME_CALL_cudaMallocHost, fake_calls::malloc_host);
    set(MNEME_CALL_cudaFreeHost, fake_calls::free_host);
    set(MNEME_CALL_cudaHostRegister, fake_calls::host_register);
    set(MNEME_CALL_cudaHostUnregister, fake_calls::host_unregister);
    set(MNEME_CALL_cudaHostGetFlags, fake_calls::host_get_flags);
    set(MNEME_CALL_cudaMemcpy, fake_calls::copy);
    for (mneme_call slot :
         {MNEME_CALL_cudaLaunchKernel, MNEME_CALL_cudaLaunchKernel_ptsz, MNEME_CALL_cudaLaunchCooperativeKernel,
          MNEME_CALL_cudaLaunchCooperativeKernel_ptsz, MNEME_CALL___cudaLaunchKernel, MNEME_CALL___cudaLaunchKernel_ptsz})
      set(slot, fake_calls::launch);
    for (mneme_call slot : {MNEME_CALL_cudaLaunchKernelExC, MNEME_CALL_cudaLaunchKernelExC_ptsz})
      set(slot, fake_calls::launch_extended);
    set(MNEME_CALL_cudaEventCreateWithFlags, fake_calls::make_event);
    set(MNEME_CALL_cudaEventRecord, fake_calls::record_event);
    set(MNEME_CALL_cudaEventElapsedTime, fake_calls::elapsed_time);
    set(MNEME_CALL_cudaEventDestroy, fake_calls::destroy_event);
    set(MNEME_CALL_cudaStreamIsCapturing, fake_calls::is_capturing);
    set(MNEME_CALL_cudaStreamBeginCapture, fake_calls::begin_capture);
    set(MNEME_CALL_cudaStreamBeginCaptureToGraph, fake_calls::begin_capture_to_graph);
    set(MNEME_CALL_cudaStreamEndCapture, fake_calls::end_capture);
    set(MNEME_CALL_cudaStreamDestroy, fake_calls::destroy_stream);
    set(MNEME_CALL___cudaRegisterFatBinary, fake_calls::register_image);
    set(MNEME_CALL_cudaGetSymbolAddress, fake_calls::symbol_address);
    set(MNEME_CALL_cudaGetSymbolSize, fake_calls::symbol_size);
    if (vendor) vendor(slots_);
    real_ = slots_;
    // Tables are numbered for the whole process; each test takes the same number.
    table_ = {MNEME_ABI_VERSION,       MNEME_CALL_COUNT,        0,      MNEME_TABLE_CPU, slots_.data(), real_.data(),
              fake_calls::find_global, MNEME_CUDA_CALLS_DIGEST, "test", nullptr};
  }

  void register_kernels() {
    void** image = add_image(
        {segment("increment", {}), segment("add_table", {{"table.file", 64, 0, "table"}}),
         segment("managed_reader", {{"m", 4, MNEME_GLOBAL_MANAGED}}), segment("texture_reader", {}, MNEME_USES_TEXTURES),
         segment("heap_user", {}, MNEME_USES_DEVICE_HEAP), segment("launcher", {}, MNEME_USES_DEVICE_LAUNCH),
         segment("two_names", {{"table.file", 64, 0, "table"}, {"table.alias", 64, 0, "alias"}})},
        {increment, add_table, managed_reader, texture_reader, heap_user, launcher, two_names});
    add_variable(image, shadow, "table.file", sizeof shadow);
    runtime_.symbols[shadow] = {table, sizeof table};
    add_image({}, {plain});
    runtime_.kernels[increment] = [](void** arguments) {
      int* data = *static_cast<int**>(arguments[0]);
      for (int i = 0; i < *static_cast<int*>(arguments[1]); ++i) ++data[i];
      return cudaSuccess;
    };
    runtime_.globals["table.file"] = runtime_.globals["table.alias"] = {table, sizeof table};
    runtime_.kernels[add_table] = [this](void** arguments) {
      for (int i = 0; i < 16; ++i) (*static_cast<int**>(arguments[0]))[i] += table[i]++;
      return cudaSuccess;
    };
    for (const void* kernel : {plain, managed_reader, texture_reader, heap_user, launcher, two_names})
      runtime_.kernels[kernel] = [](void**) { return cudaSuccess; };
  }

 public:
  alignas(64) int table[16] = {};  // on the device
  int shadow[16] = {};             // what the host names it by

 private:
  FakeRuntime runtime_;
  std::optional<TemporaryDirectory> temporary_;
  Path directory_;
  std::optional<RecordingReportMapping> mapping_;
  fake::FakeDevice* device_ = nullptr;
  std::unique_ptr<Recorder> recorder_;
  std::vector<mneme_function> slots_, real_;
  mneme_call_table table_{};
  std::vector<ByteVector> images_;
  std::vector<std::unique_ptr<TestWrapper>> wrappers_;
  int hashes_ = 0;
};

}  // namespace mneme::testing
