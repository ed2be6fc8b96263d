#include "mneme/record/driver/driver_front.h"

#include <algorithm>
#include <thread>

namespace mneme::driver {

// What the recorder calls of the driver itself.
#define MNEME_OWN_CALLS(X)      \
  X(cuCtxGetDevice)             \
  X(cuDeviceGetAttribute)       \
  X(cuCtxSynchronize)           \
  X(cuCtxGetCurrent)            \
  X(cuCtxGetLimit)              \
  X(cuDeviceGetCount)           \
  X(cuDevicePrimaryCtxRetain)   \
  X(cuDevicePrimaryCtxGetState) \
  X(cuEventCreate)              \
  X(cuEventRecord)              \
  X(cuEventQuery)               \
  X(cuStreamIsCapturing)        \
  X(cuPointerGetAttribute)
// Those that came later than the oldest driver that is recorded on; null there.
#define MNEME_LATER_CALLS(X)   \
  X(cuDeviceGetMemPool)        \
  X(cuDeviceGetDefaultMemPool) \
  X(cuStreamGetCtx)            \
  X(cuStreamGetGreenCtx)

struct DriverFront::Functions {
#define MNEME_MEMBER(name) decltype(&::name) name = nullptr;
  MNEME_OWN_CALLS(MNEME_MEMBER)
  MNEME_LATER_CALLS(MNEME_MEMBER)
#undef MNEME_MEMBER
  // Under the names that programs do not write: cuda.h prefers newer versions than the oldest driver has.
  CUresult (*destroy_event)(CUevent) = nullptr;
  CUresult (*push_current)(CUcontext) = nullptr;
  CUresult (*pop_current)(CUcontext*) = nullptr;
  CUresult (*copy_to_host)(void*, CUdeviceptr, size_t) = nullptr;
  CUresult (*primary_release)(CUdevice) = nullptr;
  CUresult (*elapsed_time)(float* milliseconds, CUevent start, CUevent end) = nullptr;
};

namespace {

#define MNEME_QUOTE_(name) #name
#define MNEME_QUOTE(name) MNEME_QUOTE_(name)

Status driver_error(const char* call, CUresult code) {
  return error(Code::device_fault, "{} returned {}", call, static_cast<int>(code));
}

}  // namespace

DriverFront& front() {
  static auto* const only = new DriverFront;
  return *only;
}

Status DriverFront::attach(mneme_driver_table& table) {
  static Functions functions;
  const DriverSymbols symbols(table.library);
#define MNEME_NEED(name) MNEME_TRY(symbols.need(MNEME_QUOTE(name), functions.name));
#define MNEME_FIND(name) symbols.find(MNEME_QUOTE(name), functions.name);
  MNEME_OWN_CALLS(MNEME_NEED)
  MNEME_LATER_CALLS(MNEME_FIND)
#undef MNEME_NEED
#undef MNEME_FIND
  MNEME_TRY(symbols.need("cuEventDestroy_v2", functions.destroy_event));
  MNEME_TRY(symbols.need("cuCtxPushCurrent_v2", functions.push_current));
  MNEME_TRY(symbols.need("cuCtxPopCurrent_v2", functions.pop_current));
  MNEME_TRY(symbols.need("cuMemcpyDtoH_v2", functions.copy_to_host));
  MNEME_TRY(symbols.need("cuDevicePrimaryCtxRelease_v2", functions.primary_release));
  MNEME_TRY(symbols.need("cuEventElapsedTime", functions.elapsed_time));
  functions_ = &functions;
  return attach_to(table);
}

Result<int> DriverFront::current_device() {
  CUdevice device = 0;
  if (CUresult code = functions_->cuCtxGetDevice(&device); code != CUDA_SUCCESS) return driver_error("cuCtxGetDevice", code);
  return static_cast<int>(device);
}

Result<TexturePlace> DriverFront::current_place() {
  MNEME_ASSIGN(const int device, current_device());
  return TexturePlace{device, current_context()};
}

LaunchLimits DriverFront::limits() {
  LaunchLimits found;
  size_t stack = 0, launches = 0;
  if (functions_->cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS) found.stack = Bytes(stack);
  if (functions_->cuCtxGetLimit(&launches, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) == CUDA_SUCCESS)
    found.pending_launches = launches;
  return found;
}

bool DriverFront::reaches_pageable_memory() {
  CUdevice device = 0;
  int reaches = 0;
  return functions_->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
         functions_->cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) == CUDA_SUCCESS &&
         reaches != 0;
}

bool DriverFront::is_memory(DevicePtr address) {
  unsigned type = 0;
  return functions_->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address.address) == CUDA_SUCCESS;
}

CUcontext DriverFront::current_context() const {
  CUcontext current = nullptr;
  functions_->cuCtxGetCurrent(&current);
  return current;
}

bool DriverFront::in_primary_context() {
  const auto device = current_device();
  const auto primary = device.ok() ? primary_context(*device) : device.status();
  return primary.ok() && *primary && *primary == current_context();
}

Result<int> DriverFront::device_of(CUcontext context) const {
  CUdevice device = 0;
  if (CUresult code = functions_->push_current(context); code != CUDA_SUCCESS) return driver_error("cuCtxPushCurrent", code);
  const CUresult code = functions_->cuCtxGetDevice(&device);
  functions_->pop_current(&context);
  if (code != CUDA_SUCCESS) return driver_error("cuCtxGetDevice", code);
  return static_cast<int>(device);
}

// A kernel's handle (CUkernel) is launched where its stream belongs. Green contexts have a part of the device only.
std::optional<NotRecorded> DriverFront::refuse_stream(void* stream) {
  CUcontext of_stream = nullptr;
  CUgreenCtx green = nullptr;
  auto* const handle = static_cast<CUstream>(stream);
  if (green_contexts_ && functions_->cuStreamGetGreenCtx && functions_->cuStreamGetGreenCtx(handle, &green) == CUDA_SUCCESS &&
      green)
    return NotRecorded::other_context;
  const bool special = !stream || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
  if (special || !functions_->cuStreamGetCtx || functions_->cuStreamGetCtx(handle, &of_stream) != CUDA_SUCCESS)
    return std::nullopt;
  return of_stream == current_context() ? std::nullopt : std::optional(NotRecorded::other_context);
}

// Null where the program has none: to retain it would make one.
Result<CUcontext> DriverFront::primary_context(CUdevice device) {
  std::lock_guard lock(mutex_);
  if (auto known = primary_.find(device); known != primary_.end()) return known->second;
  unsigned flags = 0;
  int active = 0;
  if (CUresult code = functions_->cuDevicePrimaryCtxGetState(device, &flags, &active); code != CUDA_SUCCESS)
    return driver_error("cuDevicePrimaryCtxGetState", code);
  if (!active) return nullptr;
  CUcontext primary = nullptr;
  if (CUresult code = functions_->cuDevicePrimaryCtxRetain(&primary, device); code != CUDA_SUCCESS)
    return driver_error("cuDevicePrimaryCtxRetain", code);
  return primary_[device] = primary;
}

void DriverFront::add_pool(CUmemoryPool pool, int device) {
  std::lock_guard lock(mutex_);
  pools_[pool] = device;
}
std::set<int> DriverFront::forget_pool(CUmemoryPool pool) {
  std::lock_guard lock(mutex_);
  pools_.erase(pool);
  std::set<int> readers;
  std::erase_if(pool_readers_, [&](const auto& one) {
    if (one.first == pool) readers.insert(one.second);
    return one.first == pool;
  });
  const bool is_used = std::erase_if(pool_memory_, [&](const auto& one) { return one.second == pool; }) != 0;
  return is_used ? std::set<int>() : readers;
}
void DriverFront::add_pool_memory(CUmemoryPool pool, CUdeviceptr address) {
  CUdevice device = 0;
  if (!pool &&
      (functions_->cuCtxGetDevice(&device) != CUDA_SUCCESS || functions_->cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS))
    return;
  std::lock_guard lock(mutex_);
  pool_memory_[address] = pool;
}
CUmemoryPool DriverFront::pool_of_memory(CUdeviceptr address) const {
  std::lock_guard lock(mutex_);
  const auto found = pool_memory_.find(address);
  return found == pool_memory_.end() ? nullptr : found->second;
}

bool DriverFront::add_peer(CUcontext owner, int owner_device, int reader_device) {
  const Peers peers{owner, current_context()};
  std::lock_guard lock(mutex_);
  // The handles may be those of contexts that are gone.
  const auto [at, is_new] = peers_.try_emplace(peers);
  const Access before = std::exchange(at->second, {owner_device, reader_device});
  return is_new || before.owner != owner_device || before.reader != reader_device;
}
std::optional<DriverFront::Access> DriverFront::remove_peer(CUcontext owner) {
  const Peers peers{owner, current_context()};
  std::lock_guard lock(mutex_);
  auto node = peers_.extract(peers);
  return node ? std::optional(node.mapped()) : std::nullopt;
}

std::set<int> DriverFront::readers_of(CUcontext owner) const {
  std::set<int> readers;
  std::lock_guard lock(mutex_);
  for (const auto& [peers, access] : peers_)
    if (peers.owner == owner && access.reader != access.owner) readers.insert(access.reader);
  return readers;
}

bool DriverFront::set_pool_access(CUmemoryPool pool, int reader, bool reaches) {
  std::lock_guard lock(mutex_);
  return reaches ? pool_readers_.emplace(pool, reader).second : pool_readers_.erase({pool, reader}) != 0;
}

bool DriverFront::allocates_from_plain_pool(CUstream stream, CUmemoryPool pool) const {
  CUdevice device = 0;
  if (!functions_->cuDeviceGetMemPool || functions_->cuCtxGetDevice(&device) != CUDA_SUCCESS) return false;
  CUcontext of_stream = nullptr;
  if (stream && functions_->cuStreamGetCtx && functions_->cuStreamGetCtx(stream, &of_stream) == CUDA_SUCCESS &&
      of_stream != current_context())
    return false;
  if (!pool && functions_->cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS) return false;
  return device_of_pool(pool) == device;
}

bool DriverFront::shares_managed_memory() const {
  CUdevice device = 0;
  int shares = 0;
  return functions_->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
         functions_->cuDeviceGetAttribute(&shares, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device) == CUDA_SUCCESS &&
         shares != 0;
}

bool DriverFront::is_managed(DevicePtr address) const {
  unsigned managed = 0;
  return shares_managed_memory() &&
         functions_->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address.address) == CUDA_SUCCESS &&
         managed != 0;
}

bool DriverFront::is_capturing(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return recorder()->in_stream_capture() && functions_->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void DriverFront::run_in_own_thread(const std::function<void()>& work) const {
  CUcontext current = current_context();
  std::thread([&] {
    functions_->push_current(current);
    work();
    functions_->pop_current(&current);
  }).join();
}

std::optional<int> DriverFront::device_of_pool(CUmemoryPool pool) const {
  {
    std::lock_guard lock(mutex_);
    if (auto own = pools_.find(pool); own != pools_.end()) return own->second;
  }
  int count = 0;
  if (!functions_->cuDeviceGetDefaultMemPool || functions_->cuDeviceGetCount(&count) != CUDA_SUCCESS) return std::nullopt;
  for (CUdevice device = 0; device < count; ++device) {
    CUmemoryPool own = nullptr;
    if (functions_->cuDeviceGetDefaultMemPool(&own, device) == CUDA_SUCCESS && own == pool) return static_cast<int>(device);
  }
  return std::nullopt;
}

Status DriverFront::synchronize(CUcontext context) const {
  // One that the program has destroyed meanwhile has no work.
  if (functions_->push_current(context) != CUDA_SUCCESS) return {};
  const CUresult code = functions_->cuCtxSynchronize();
  functions_->pop_current(&context);
  return code == CUDA_SUCCESS ? Status() : driver_error("cuCtxSynchronize", code);
}

Status DriverFront::synchronize(int ordinal) {
  std::vector<CUcontext> contexts;
  if (auto primary = primary_context(ordinal); primary.ok() && *primary) contexts.push_back(*primary);
  {
    std::lock_guard lock(mutex_);
    for (const auto& [context, own] : own_)
      if (own.device == ordinal) contexts.push_back(context);
  }
  Status all;
  for (CUcontext context : contexts)
    if (Status one = synchronize(context); all.ok()) all = std::move(one);
  return all;
}

void DriverFront::add_context(CUcontext context, CUdevice device) {
  std::lock_guard lock(mutex_);
  own_[context] = {device};
}

std::optional<int> DriverFront::count_own(CUcontext context, int change) {
  std::lock_guard lock(mutex_);
  const auto found = own_.find(context);
  return found == own_.end() ? std::nullopt : std::optional(found->second.uses += change);
}

bool DriverFront::has_own_context(CUdevice device) const {
  std::lock_guard lock(mutex_);
  return std::any_of(own_.begin(), own_.end(), [&](const auto& own) { return own.second.device == device; });
}

DriverFront::Belongings DriverFront::forget_context(CUcontext context) {
  recorder()->textures().forget_context(context);
  std::lock_guard lock(mutex_);
  own_.erase(context);
  auto node = belongings_.extract(context);
  Belongings gone = node ? std::move(node.mapped()) : Belongings();
  std::erase_if(peers_, [&](const auto& one) {
    const bool goes = one.first.owner == context || one.first.reader == context;
    if (goes) gone.peers.push_back(one.second);
    return goes;
  });
  return gone;
}

DriverFront::Belongings DriverFront::forget_primary_context(CUdevice device) {
  const auto primary = primary_context(device);
  if (!primary.ok() || !*primary) return {};
  {
    std::lock_guard lock(mutex_);
    primary_.erase(device);
  }
  functions_->primary_release(device);
  return forget_context(*primary);
}

int DriverFront::count_primary(CUdevice device, int change) {
  std::lock_guard lock(mutex_);
  return primary_uses_[device] += change;
}
bool DriverFront::holds_primary(CUdevice device) const {
  std::lock_guard lock(mutex_);
  auto found = primary_uses_.find(device);
  return found != primary_uses_.end() && found->second > 0;
}

void DriverFront::add_image(const void* handle) {
  const CUcontext context = current_context();
  std::lock_guard lock(mutex_);
  belongings_[context].images.insert(handle);
}

void DriverFront::add_memory(CUdeviceptr address) {
  const CUcontext context = current_context();
  std::lock_guard lock(mutex_);
  belongings_[context].memory.insert(address);
}
CUcontext DriverFront::context_of_memory(CUdeviceptr address) const {
  std::lock_guard lock(mutex_);
  for (const auto& [context, belongings] : belongings_)
    if (belongings.memory.contains(address)) return context;
  return nullptr;
}
void DriverFront::forget_memory(CUdeviceptr address) {
  std::lock_guard lock(mutex_);
  pool_memory_.erase(address);
  for (auto& [context, belongings] : belongings_)
    if (belongings.memory.erase(address) != 0) return;
}

Result<void*> DriverFront::record_event(void* stream) {
  CUevent event = nullptr;
  if (CUresult code = functions_->cuEventCreate(&event, CU_EVENT_DEFAULT); code != CUDA_SUCCESS)
    return driver_error("cuEventCreate", code);
  if (CUresult code = functions_->cuEventRecord(event, static_cast<CUstream>(stream)); code != CUDA_SUCCESS) {
    destroy_event(event);
    return driver_error("cuEventRecord", code);
  }
  return static_cast<void*>(event);
}

std::optional<Nanoseconds> DriverFront::elapsed(void* start, void* end) {
  float milliseconds = 0;
  if (functions_->elapsed_time(&milliseconds, static_cast<CUevent>(start), static_cast<CUevent>(end)) != CUDA_SUCCESS)
    return std::nullopt;
  return Nanoseconds(double{milliseconds} * 1e6);
}

bool DriverFront::has_happened(void* event) {
  return functions_->cuEventQuery(static_cast<CUevent>(event)) != CUDA_ERROR_NOT_READY;
}
void DriverFront::destroy_event(void* event) { functions_->destroy_event(static_cast<CUevent>(event)); }

Result<MemoryRange> DriverFront::find_global(const RecordableKernel& kernel, const std::string& name) {
  return find_global(*kernel.registered->image, name);
}

Result<MemoryRange> DriverFront::find_global(const RegisteredImage& of, const std::string& name) const {
  MemoryRange place;
  const CUresult code = find_variable_in(of.handle(), name, place);
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_FOUND) return driver_error("looking up a variable", code);
  if (code != CUDA_SUCCESS)
    return error(Code::not_found, "the driver finds no variable {}: it returned {}", name, static_cast<int>(code));
  return place;
}

// In the current context, which is that of the launch.
Status DriverFront::read_variable(Stream&, MutableByteSpan to, DevicePtr from) {
  const CUresult code = functions_->copy_to_host(to.data(), from.address, to.size());
  return code == CUDA_SUCCESS ? Status() : driver_error("cuMemcpyDtoH", code);
}

// In the image that the runtime has given to the driver, which is the one that the program has registered.
Result<MemoryRange> DriverFront::find_variable(const RegisteredVariable& variable, uint32_t) {
  const auto symbol = host_variables()->find_variable(variable.host_address);
  const auto registered = symbol ? image_at(symbol->image->wrapper()) : error(Code::not_found, "it is not registered");
  if (!registered.ok()) return registered.status();
  for (const auto& image : recorder()->registry().images()) {
    const ByteSpan loaded = image->loaded().bytes;
    if (loaded.data() == registered->data() || std::ranges::equal(loaded, *registered)) return find_global(*image, variable.name);
  }
  return error(Code::not_found, "the image of the variable {} is not loaded", variable.name);
}

Result<std::vector<Parameter>> DriverFront::parameters_of(const void* function) {
  MNEME_ASSIGN(const std::vector<ParameterPlace> places, parameter_places(function));
  std::vector<Parameter> parameters;
  for (const auto [offset, size] : places) parameters.push_back({Parameter::Kind::opaque, "", "", offset, size, 1});
  return parameters;
}

namespace {

Status check_version(const mneme_driver_table& table) {
  if (table.version != MNEME_DRIVER_TABLE_VERSION || table.call_count != MNEME_DRIVER_CALL_COUNT)
    return error(Code::incompatible,
                 "the preloaded library is of another Mneme (its table has version {} and {} functions, {} and {} expected)",
                 table.version, table.call_count, MNEME_DRIVER_TABLE_VERSION, static_cast<int>(MNEME_DRIVER_CALL_COUNT));
  return {};
}

void replace(mneme_driver_table& table, const std::vector<DriverHook>& hooks) {
  for (const DriverHook& one : hooks)
    if (table.real[one.slot]) table.slots[one.slot] = one.handler;
}

}  // namespace

Status attach_opening(mneme_driver_table& table) {
  MNEME_TRY(check_version(table));
  MNEME_TRY(front().attach(table));
  for (const auto& hooks : {opening_hooks(), peer_hooks()}) replace(table, hooks);
  return {};
}

Status attach_driver(mneme_driver_table& table) {
  MNEME_TRY(check_version(table));
  MNEME_TRY(front().attach(table));
  for (const auto& hooks : {image_hooks(), context_hooks(), peer_hooks(), memory_hooks(), texture_hooks(), mapped_memory_hooks(),
                            sharing_hooks(), opening_hooks(), host_memory_hooks(), launch_hooks(), graph_hooks(), write_hooks()})
    replace(table, hooks);
  give_early_annotations();
  return {};
}

}  // namespace mneme::driver
