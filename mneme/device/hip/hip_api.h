// HipApi: the HIP runtime's functions as those of Api.
#pragma once

#include "mneme/device/gpu/context.h"
#include "mneme/device/hip/driver.h"

namespace mneme::hip {

class HipApi final : public gpu::Api {
 public:
  explicit HipApi(const Driver& driver) : driver_(driver) {}
  const Driver& driver() const { return driver_; }

  const gpu::Words& words() const override;
  Status status_of(gpu::ResultCode result, std::string_view call) const override;
  bool is_fault(gpu::ResultCode result) const override;
  std::span<const uint64_t> wider_reservations() const override;

  bool remembers_mappings() const override;
  gpu::ResultCode start() const override;
  gpu::ResultCode count_devices(int* count) const override;
  gpu::ResultCode find_device(int* device, int ordinal) const override;
  gpu::ResultCode retain(gpu::ContextHandle* context, int device) const override;
  void release(int device) const override;
  gpu::ResultCode make_current(gpu::ContextHandle context, int device, gpu::PreviousContext* previous) const override;
  void restore(const gpu::PreviousContext& previous) const override;

  void unload(gpu::ModuleHandle module) const override;
  gpu::ResultCode find_function(gpu::FunctionHandle* function, gpu::ModuleHandle module, const char* name) const override;
  gpu::ResultCode find_global(uint64_t* address, size_t* size, gpu::ModuleHandle module, const char* name) const override;
  gpu::ResultCode function_attribute(int* value, gpu::FunctionAttribute attribute, gpu::FunctionHandle function) const override;
  gpu::ResultCode occupancy(int* blocks, gpu::FunctionHandle function, int threads, size_t shared_memory) const override;
  gpu::ResultCode launch(const gpu::Launch& launch) const override;

  gpu::ResultCode create_stream(gpu::StreamHandle* stream) const override;
  void destroy(gpu::StreamHandle stream) const override;
  gpu::ResultCode synchronize(gpu::StreamHandle stream) const override;
  gpu::ResultCode create_event(gpu::EventHandle* event, gpu::EventUse use) const override;
  void destroy(gpu::EventHandle event) const override;
  gpu::ResultCode record_event(gpu::EventHandle event, gpu::StreamHandle stream) const override;
  gpu::ResultCode wait_for_event(gpu::EventHandle event) const override;
  gpu::ResultCode elapsed(float* milliseconds, gpu::EventHandle start, gpu::EventHandle end) const override;

  gpu::ResultCode allocate(uint64_t* address, size_t size) const override;
  gpu::ResultCode free(uint64_t address) const override;
  gpu::ResultCode allocate_host(void** memory, size_t size) const override;
  gpu::ResultCode free_host(void* memory) const override;
  gpu::ResultCode register_host(void* memory, size_t size) const override;
  gpu::ResultCode unregister_host(void* memory) const override;
  gpu::ResultCode host_address(uint64_t* address, void* memory) const override;
  gpu::ResultCode copy_to_device(uint64_t to, const void* from, size_t size, gpu::StreamHandle stream) const override;
  gpu::ResultCode copy_to_host(void* to, uint64_t from, size_t size, gpu::StreamHandle stream) const override;
  gpu::ResultCode copy(uint64_t to, uint64_t from, size_t size, gpu::StreamHandle stream) const override;
  gpu::ResultCode fill(uint64_t to, unsigned char value, size_t size, gpu::StreamHandle stream) const override;

  gpu::ResultCode reserve(uint64_t* address, size_t size, uint64_t wish) const override;
  gpu::ResultCode unreserve(uint64_t address, size_t size) const override;
  gpu::ResultCode create_memory(gpu::MemoryHandle* memory, size_t size, int device, gpu::Sharing sharing) const override;
  void release(gpu::MemoryHandle memory) const override;
  gpu::ResultCode map(uint64_t address, size_t size, gpu::MemoryHandle memory) const override;
  gpu::ResultCode unmap(uint64_t address, size_t size) const override;
  gpu::ResultCode set_access(uint64_t address, size_t size, int device, gpu::MemoryAccess access) const override;
  gpu::ResultCode export_memory(int* descriptor, gpu::MemoryHandle memory) const override;
  gpu::ResultCode import_memory(gpu::MemoryHandle* memory, int descriptor) const override;

 private:
  const Driver& driver_;
};

// The runtime of a context that is over a HipApi, as all of this room are.
inline const Driver& driver_of(const gpu::Context& context) { return static_cast<const HipApi&>(context.api()).driver(); }

}  // namespace mneme::hip
