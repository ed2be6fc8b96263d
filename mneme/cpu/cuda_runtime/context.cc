#include "mneme/cpu/cuda_runtime/context.h"

#include <sys/mman.h>

#include <cstdlib>
#include <set>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::emulation {

namespace {

bool is_on_device(MemoryKind kind) { return kind == MemoryKind::device || kind == MemoryKind::managed; }

}  // namespace

void* MemoryTable::allocate(size_t size, const MemoryUse& use) {
  const bool on_device = is_on_device(use.kind);
  {
    std::lock_guard lock(mutex_);
    uint64_t total = device_.properties().total_memory.count;
    if (on_device && (size > total || allocated_ > total - size)) return nullptr;
  }
  const bool counts = use.pool && use.graph == GraphUse::none;
  if (counts && !use.pool->take(Bytes(size))) return nullptr;
  Result<DevicePtr> pointer = device_.allocate(Bytes(size));
  if (!pointer.ok()) {
    if (counts) use.pool->give_back(Bytes(size));
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  memory_.set({*pointer, Bytes(size)}, use);
  if (on_device) allocated_ += size;
  return reinterpret_cast<void*>(pointer->address);
}

bool MemoryTable::free(void* pointer, std::initializer_list<MemoryKind> accepts) {
  const DevicePtr address(reinterpret_cast<uint64_t>(pointer));
  std::lock_guard lock(mutex_);
  const Entry* found = memory_.find_start(address);
  if (!found || std::find(accepts.begin(), accepts.end(), found->value.kind) == accepts.end()) return false;
  const Entry entry = *found;
  if (entry.value.graph == GraphUse::idle) return false;
  if (entry.value.pool) entry.value.pool->give_back(entry.range.size);
  if (entry.value.graph == GraphUse::none) return give_back(entry);
  memory_.set(entry.range, {entry.value.kind, entry.value.flags, entry.value.pool, GraphUse::idle});
  return true;
}

// With the mutex held.
bool MemoryTable::give_back(const Entry& entry) {
  if (is_on_device(entry.value.kind)) allocated_ -= entry.range.size.count;
  memory_.erase_start(entry.range.address);
  if (entry.value.kind == MemoryKind::managed) advice_.forget(entry.range);
  return entry.value.kind == MemoryKind::registered || device_.free(entry.range.address).ok();
}

void MemoryTable::begin_graph_use(void* pointer) {
  std::lock_guard lock(mutex_);
  const Entry* found = memory_.find_start(DevicePtr(reinterpret_cast<uint64_t>(pointer)));
  if (!found || found->value.graph != GraphUse::idle) return;
  MemoryUse use = found->value;
  use.graph = GraphUse::live;
  if (use.pool) use.pool->take(found->range.size);
  memory_.set(found->range, use);
}

void MemoryTable::end_graph_memory(void* pointer) {
  std::lock_guard lock(mutex_);
  const Entry* found = memory_.find_start(DevicePtr(reinterpret_cast<uint64_t>(pointer)));
  if (!found || found->value.graph == GraphUse::none) return;
  Entry entry = *found;
  if (entry.value.graph == GraphUse::idle) {
    give_back(entry);
    return;
  }
  entry.value.graph = GraphUse::none;
  memory_.set(entry.range, entry.value);
}

bool MemoryTable::add_registered(void* pointer, size_t size, unsigned flags) {
  const MemoryRange memory{DevicePtr(reinterpret_cast<uint64_t>(pointer)), Bytes(size)};
  std::lock_guard lock(mutex_);
  if (memory_.first_overlap(memory) != memory_.end()) return false;
  memory_.set(memory, {.kind = MemoryKind::registered, .flags = flags});
  return true;
}

std::optional<AllocatedMemory> MemoryTable::find_allocation(const void* pointer) const {
  std::lock_guard lock(mutex_);
  const auto* found = memory_.find(DevicePtr(reinterpret_cast<uint64_t>(pointer)));
  return found ? std::optional(AllocatedMemory{found->range, found->value}) : std::nullopt;
}

std::optional<MemoryUse> MemoryTable::find(const void* pointer) const {
  const auto found = find_allocation(pointer);
  return found ? std::optional(found->use) : std::nullopt;
}

uint64_t MemoryTable::allocated() const {
  std::lock_guard lock(mutex_);
  return allocated_;
}

Context::Context() {
  auto must = [](const Status& status) {
    if (status.ok()) return;
    log::error("opening the CPU device: {}", status.message());
    std::abort();
  };
  Result<std::unique_ptr<Device>> device = Device::open(DeviceKind::cpu);
  must(device.status());
  device_ = std::move(*device);
  Result<std::unique_ptr<Stream>> stream = device_->create_stream();
  must(stream.status());
  stream_ = std::move(*stream);
  images_ = std::make_unique<Images>(*device_);
  memory_ = std::make_unique<MemoryTable>(*device_);
}

Context& Context::get() {
  static Context* context = new Context;
  return *context;
}

Status Context::launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  std::lock_guard lock(launch_mutex_);
  MNEME_TRY(stream_->launch(kernel, shape, parameters));
  return stream_->synchronize();
}

FunctionSettings Context::function_settings(const void* function) const {
  std::lock_guard lock(settings_mutex_);
  auto found = settings_.find(function);
  return found == settings_.end() ? FunctionSettings() : found->second;
}

void Context::set_function_settings(const void* function, const FunctionSettings& settings) {
  std::lock_guard lock(settings_mutex_);
  settings_[function] = settings;
}

uint32_t Context::architecture() {
  uint32_t newest = 0;
  for (const auto& image : registry_.images())
    if (Result<DeviceElf> elf = image->device_elf(); elf.ok()) newest = std::max(newest, elf->sm);
  return newest == 0 ? 90 : newest;
}

namespace {

cudaError_t code_of(cpu::FaultKind kind) {
  switch (kind) {
    case cpu::FaultKind::memory_access: return cudaErrorIllegalAddress;
    case cpu::FaultKind::assertion: return cudaErrorAssert;
    case cpu::FaultKind::illegal_instruction: return cudaErrorIllegalInstruction;
    case cpu::FaultKind::stack_overflow: return cudaErrorHardwareStackError;
    case cpu::FaultKind::deadlock: return cudaErrorLaunchTimeout;
    case cpu::FaultKind::arithmetic:
    case cpu::FaultKind::trap:
    case cpu::FaultKind::misuse: return cudaErrorLaunchFailure;
  }
  return cudaErrorLaunchFailure;
}

}  // namespace

cudaError_t to_cuda(const Status& status) {
  switch (status.code()) {
    case Code::ok: return cudaSuccess;
    case Code::device_fault: break;
    case Code::exhausted: return cudaErrorMemoryAllocation;
    case Code::not_found: return cudaErrorInvalidDeviceFunction;
    case Code::unsupported: return cudaErrorNotSupported;
    case Code::invalid_argument: return cudaErrorInvalidConfiguration;
    default: return cudaErrorUnknown;
  }
  log::error("{}", status.message());
  std::optional<cpu::Fault> fault = cpu::last_fault(Context::get().device());
  poison(fault ? code_of(fault->kind) : cudaErrorLaunchFailure);
  return emulation::fault();
}

}  // namespace mneme::emulation
