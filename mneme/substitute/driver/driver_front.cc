#include "mneme/substitute/driver/driver_front.h"

#include <memory>

#include "mneme/abi/deployed_code.h"
#include "mneme/hooks/driver_images.h"
#include "mneme/runtime/kernel_hash.h"
#include "mneme/substitute/process.h"
#include "mneme/substitute/relaxed_capture.h"

namespace mneme::substitute {

// What is called of the driver itself. Those that came after the oldest driver that deployed code runs on may be missing.
#define MNEME_OWN_CALLS(X)      \
  X(cuCtxGetDevice)             \
  X(cuCtxGetCurrent)            \
  X(cuCtxGetId)                 \
  X(cuCtxPushCurrent)           \
  X(cuCtxPopCurrent)            \
  X(cuDeviceGetCount)           \
  X(cuDeviceGetAttribute)       \
  X(cuDevicePrimaryCtxGetState) \
  X(cuDevicePrimaryCtxRetain)   \
  X(cuDevicePrimaryCtxRelease)  \
  X(cuStreamIsCapturing)        \
  X(cuStreamGetCtx)             \
  X(cuLibraryLoadData)          \
  X(cuLibraryGetKernel)         \
  X(cuLibraryGetGlobal)         \
  X(cuKernelGetFunction)        \
  X(cuKernelSetAttribute)       \
  X(cuStreamCreate)             \
  X(cuStreamSynchronize)        \
  X(cuEventCreate)              \
  X(cuEventRecord)              \
  X(cuEventSynchronize)         \
  X(cuPointerGetAttribute)
#define MNEME_LATER_CALLS(X) X(cuThreadExchangeStreamCaptureMode)

struct DriverFront::Functions {
#define MNEME_MEMBER(name) decltype(&::name) name = nullptr;
  MNEME_OWN_CALLS(MNEME_MEMBER)
  MNEME_LATER_CALLS(MNEME_MEMBER)
#undef MNEME_MEMBER
  // Under the names that programs do not write: cuda.h prefers newer versions than the oldest driver has.
  CUresult (*address_range)(CUdeviceptr*, size_t*, CUdeviceptr) = nullptr;
  CUresult (*copy_to_device)(CUdeviceptr, const void*, size_t, CUstream) = nullptr;
  CUresult (*destroy_stream)(CUstream) = nullptr;
  CUresult (*copy_to_host)(void*, CUdeviceptr, size_t, CUstream) = nullptr;
  CUresult (*copy_on_device)(CUdeviceptr, CUdeviceptr, size_t, CUstream) = nullptr;
  CUresult (*memory_info)(size_t*, size_t*) = nullptr;
  CUresult (*allocate)(CUdeviceptr*, size_t) = nullptr;
  CUresult (*release)(CUdeviceptr) = nullptr;
  CUresult (*destroy_event)(CUevent) = nullptr;
  CUresult (*elapsed_time)(float*, CUevent, CUevent) = nullptr;
};

namespace {

#define MNEME_QUOTE_(name) #name
#define MNEME_QUOTE(name) MNEME_QUOTE_(name)

Status check(const char* call, CUresult code) {
  if (code == CUDA_SUCCESS) return {};
  return error(Code::device_fault, "{} returned {}", call, static_cast<int>(code));
}

auto relaxed_capture(CUresult (*exchange)(CUstreamCaptureMode*)) {
  return RelaxedCapture(exchange, CU_STREAM_CAPTURE_MODE_RELAXED);
}

struct ImageFront {
  static mneme_driver_function real(mneme_driver_call slot) { return front().real(slot); }
  static mneme_driver_function find(const char* name) { return front().find(name); }
  static Registry& registry() { return process()->registry; }
  static void on_load() {}
  static void on_unload() { process()->code.forget_kernels(); }
  static void on_module(const void*) {}
  static void on_library(const void* handle) { front().add_library(handle); }
  static void on_library_unload(const void* handle) { front().forget_library(handle); }
};

}  // namespace

DriverFront& front() {
  static auto* const only = new DriverFront;
  return *only;
}

Status DriverFront::attach(mneme_driver_table& table) {
  static Functions functions;
  const driver::DriverSymbols symbols(table.library);
#define MNEME_NEED(name) MNEME_TRY(symbols.need(MNEME_QUOTE(name), functions.name));
#define MNEME_FIND(name) symbols.find(MNEME_QUOTE(name), functions.name);
  MNEME_OWN_CALLS(MNEME_NEED)
  MNEME_LATER_CALLS(MNEME_FIND)
#undef MNEME_NEED
#undef MNEME_FIND
  MNEME_TRY(symbols.need("cuMemGetAddressRange_v2", functions.address_range));
  MNEME_TRY(symbols.need("cuMemcpyHtoDAsync_v2", functions.copy_to_device));
  MNEME_TRY(symbols.need("cuStreamDestroy_v2", functions.destroy_stream));
  MNEME_TRY(symbols.need("cuMemcpyDtoHAsync_v2", functions.copy_to_host));
  MNEME_TRY(symbols.need("cuMemcpyDtoDAsync_v2", functions.copy_on_device));
  MNEME_TRY(symbols.need("cuMemGetInfo_v2", functions.memory_info));
  MNEME_TRY(symbols.need("cuMemAlloc_v2", functions.allocate));
  MNEME_TRY(symbols.need("cuMemFree_v2", functions.release));
  MNEME_TRY(symbols.need("cuEventDestroy_v2", functions.destroy_event));
  MNEME_TRY(symbols.need("cuEventElapsedTime", functions.elapsed_time));
  functions_ = &functions;
  return attach_to(table);
}

// Of each launch. What a thread has found last holds until a primary context ends. With one device there is one context: where it
// is not the thread's any more, launches fail, whatever they name. With more of them the driver is asked, and with contexts of
// the program's own for an id, which is never used again.
int DriverFront::current_device() {
  struct Found {
    uint64_t ended;  // 0: nothing was found
    CUcontext context;
    unsigned long long id;
    int number;
  };
  static thread_local Found last [[gnu::tls_model("initial-exec")]] = {};
  const uint64_t ended = ended_.load(std::memory_order_acquire);
  const bool holds = last.ended == ended && has_primary_contexts_alone();
  if (holds && one_device_.load(std::memory_order_relaxed)) return last.number;
  CUcontext context = nullptr;
  unsigned long long id = 0;
  if (functions_->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return -1;
  if (holds && last.context == context) return last.number;
  if (functions_->cuCtxGetId(context, &id) != CUDA_SUCCESS) return -1;
  if (last.ended != 0 && last.id == id) {
    last.ended = ended;
    last.context = context;
    return last.number;
  }
  const auto number = number_of(id);
  if (!number.ok()) return -1;
  last = {ended, context, id, *number};
  return last.number;
}

void DriverFront::note_primary_context_ended(CUdevice device) {
  ended_.fetch_add(1, std::memory_order_acq_rel);
  std::vector<int> numbers;
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < contexts_.size(); ++i)
      if (contexts_[i].device == device && contexts_[i].is_primary) numbers.push_back(static_cast<int>(i));
  }
  process()->code.forget_devices(numbers);
}

void DriverFront::note_own_context_ended(unsigned long long id) {
  int number = -1;
  {
    std::lock_guard lock(mutex_);
    if (const auto known = numbers_.find(id); known != numbers_.end()) number = known->second;
  }
  if (number >= 0) process()->code.forget_devices({&number, 1});
}

std::optional<unsigned long long> DriverFront::id_of(CUcontext context) const {
  unsigned long long id = 0;
  if (!context || functions_->cuCtxGetId(context, &id) != CUDA_SUCCESS) return std::nullopt;
  return id;
}

// Of the current context, which is one of the device's.
bool DriverFront::is_primary(CUdevice device) const {
  if (has_primary_contexts_alone()) return true;
  CUcontext primary = nullptr, current = nullptr;
  if (!has_primary_context(device) || functions_->cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS) return false;
  functions_->cuDevicePrimaryCtxRelease(device);
  return functions_->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == primary;
}

bool DriverFront::has_primary_context(CUdevice device) const {
  unsigned flags = 0;
  int active = 0;
  return functions_->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active != 0;
}

Result<int> DriverFront::number_of(unsigned long long id) {
  std::lock_guard lock(mutex_);
  if (auto known = numbers_.find(id); known != numbers_.end()) return known->second;
  Context made;
  int major = 0, minor = 0;
  MNEME_TRY(check("cuCtxGetDevice", functions_->cuCtxGetDevice(&made.device)));
  const auto ask = functions_->cuDeviceGetAttribute;
  MNEME_TRY(check("cuDeviceGetAttribute", ask(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, made.device)));
  MNEME_TRY(check("cuDeviceGetAttribute", ask(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, made.device)));
  made.architecture = fmt::format("sm_{}{}", major, minor);
  made.is_primary = is_primary(made.device);
  int devices = 0;
  one_device_ = functions_->cuDeviceGetCount(&devices) == CUDA_SUCCESS && devices == 1;
  contexts_.push_back(std::move(made));
  return numbers_[id] = static_cast<int>(contexts_.size()) - 1;
}

Result<std::string> DriverFront::architecture(int ordinal) {
  std::lock_guard lock(mutex_);
  return contexts_.at(static_cast<size_t>(ordinal)).architecture;
}

Result<std::vector<uint64_t>> DriverFront::parameter_sizes(const void* function, const RegisteredKernel& kernel) {
  if (auto sizes = sizes_in_segment(kernel); sizes.ok()) return sizes;
  MNEME_ASSIGN(const std::vector<ParameterPlace> places, parameter_places(function));
  std::vector<uint64_t> sizes;
  for (const ParameterPlace& place : places) sizes.push_back(place.size);
  return sizes;
}

Result<MemoryRange> DriverFront::find_variable(const void*, const RegisteredKernel& kernel, const std::string& name) {
  MNEME_ASSIGN(const std::string image_name, name_in_image(kernel, name));
  MemoryRange place;
  MNEME_TRY(check("looking up a variable", find_variable_in(kernel.image->handle(), image_name, place)));
  return place;
}

std::optional<MemoryRange> DriverFront::allocation_of(DevicePtr address) {
  CUdeviceptr base = 0;
  size_t size = 0;
  if (functions_->address_range(&base, &size, address.address) != CUDA_SUCCESS) return std::nullopt;
  return MemoryRange{DevicePtr(base), Bytes(size)};
}

Result<CodeLoader::Loaded> DriverFront::load(ByteSpan image, const std::string& kernel) {
  const auto relaxed = relaxed_capture(functions_->cuThreadExchangeStreamCaptureMode);
  CUlibrary library = nullptr;
  CUkernel handle = nullptr;
  MNEME_TRY(check("cuLibraryLoadData",
                  functions_->cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0)));
  MNEME_TRY(check("cuLibraryGetKernel", functions_->cuLibraryGetKernel(&handle, library, kernel.c_str())));
  return Loaded{library, handle};
}

Result<void*> DriverFront::launch_handle(const Loaded& code) {
  CUfunction function = nullptr;
  MNEME_TRY(check("cuKernelGetFunction", functions_->cuKernelGetFunction(&function, static_cast<CUkernel>(code.kernel))));
  return static_cast<void*>(function);
}

Status DriverFront::write_addresses(const Loaded& code, std::span<const uint64_t> addresses) {
  const auto relaxed = relaxed_capture(functions_->cuThreadExchangeStreamCaptureMode);
  CUdeviceptr table = 0;
  size_t size = 0;
  MNEME_TRY(check("cuLibraryGetGlobal",
                  functions_->cuLibraryGetGlobal(&table, &size, static_cast<CUlibrary>(code.library), MNEME_VARIABLE_TABLE)));
  MNEME_TRY(check_table_size(size, addresses));
  // In a stream of its own, which waits for no other.
  CUstream stream = nullptr;
  MNEME_TRY(check("cuStreamCreate", functions_->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)));
  Status copied = check("cuMemcpyHtoDAsync", functions_->copy_to_device(table, addresses.data(), size, stream));
  if (copied.ok()) copied = check("cuStreamSynchronize", functions_->cuStreamSynchronize(stream));
  functions_->destroy_stream(stream);
  return copied;
}

Status DriverFront::set_attribute(const Loaded& code, int ordinal, CUfunction_attribute attribute, int value) {
  CUdevice device = 0;
  {
    std::lock_guard lock(mutex_);
    device = contexts_.at(static_cast<size_t>(ordinal)).device;
  }
  return check("cuKernelSetAttribute",
               functions_->cuKernelSetAttribute(attribute, value, static_cast<CUkernel>(code.kernel), device));
}

Status DriverFront::allow_shared_memory(const Loaded& code, int ordinal, Bytes size) {
  return set_attribute(code, ordinal, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(size.count));
}

Status DriverFront::allow_large_clusters(const Loaded& code, int ordinal) {
  return set_attribute(code, ordinal, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

bool DriverFront::is_capturing(void* handle) {
  auto* const stream = static_cast<CUstream>(handle);
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return false;  // these cannot
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return functions_->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool DriverFront::is_of_current_context(CUstream stream) const {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return true;
  if (one_device_ && has_primary_contexts_alone()) return true;
  CUcontext of_stream = nullptr, current = nullptr;
  return functions_->cuStreamGetCtx(stream, &of_stream) == CUDA_SUCCESS &&
         functions_->cuCtxGetCurrent(&current) == CUDA_SUCCESS && of_stream == current;
}

bool DriverFront::is_current_context(CUcontext of_node) {
  (void)current_device();  // which finds out whether there is one device
  if (one_device_ && has_primary_contexts_alone()) return true;
  CUcontext current = nullptr;
  return of_node && functions_->cuCtxGetCurrent(&current) == CUDA_SUCCESS && of_node == current;
}

CUkernel DriverFront::library_kernel(const void* handle) {
  const auto known = process()->registry.find_kernel(handle);
  const bool is_kernel = known && is_library(known->image->handle());
  return is_kernel ? static_cast<CUkernel>(const_cast<void*>(handle)) : nullptr;
}

CUfunction DriverFront::function_here(CUkernel kernel) {
  CUfunction here = nullptr;
  if (functions_->cuKernelGetFunction(&here, kernel) != CUDA_SUCCESS) return nullptr;
  Registry& registry = process()->registry;
  if (const auto known = registry.find_kernel(kernel); known && !registry.find_kernel(here))
    registry.add_function(driver::key_of(known->image->handle()), here, known->name.c_str());
  return here;
}

CUfunction DriverFront::function_in(CUcontext context, CUkernel kernel) {
  if (!context || is_current_context(context)) return function_here(kernel);
  if (functions_->cuCtxPushCurrent(context) != CUDA_SUCCESS) return nullptr;
  CUfunction there = function_here(kernel);
  functions_->cuCtxPopCurrent(&context);
  return there;
}

Result<Bytes> DriverFront::free_memory() {
  size_t available = 0, total = 0;
  MNEME_TRY(check("cuMemGetInfo", functions_->memory_info(&available, &total)));
  return Bytes(available);
}

Result<DevicePtr> DriverFront::allocate(Bytes size) {
  const auto relaxed = relaxed_capture(functions_->cuThreadExchangeStreamCaptureMode);
  CUdeviceptr block = 0;
  MNEME_TRY(check("cuMemAlloc", functions_->allocate(&block, size.count)));
  return DevicePtr(block);
}

void DriverFront::release(DevicePtr block) {
  const auto relaxed = relaxed_capture(functions_->cuThreadExchangeStreamCaptureMode);
  functions_->release(block.address);
}

Status DriverFront::copy(DevicePtr to, DevicePtr from, Bytes size, void* stream) {
  return check("cuMemcpyDtoDAsync",
               functions_->copy_on_device(to.address, from.address, size.count, static_cast<CUstream>(stream)));
}

Status DriverFront::read(std::byte* to, DevicePtr from, Bytes size, void* stream) {
  auto* const of_program = static_cast<CUstream>(stream);
  MNEME_TRY(check("cuMemcpyDtoHAsync", functions_->copy_to_host(to, from.address, size.count, of_program)));
  return check("cuStreamSynchronize", functions_->cuStreamSynchronize(of_program));
}

Status DriverFront::write(DevicePtr to, const std::byte* from, Bytes size, void* stream) {
  auto* const of_program = static_cast<CUstream>(stream);
  MNEME_TRY(check("cuMemcpyHtoDAsync", functions_->copy_to_device(to.address, from, size.count, of_program)));
  return check("cuStreamSynchronize", functions_->cuStreamSynchronize(of_program));
}

Result<double> DriverFront::time(void* stream, const std::function<Status()>& launch) {
  auto* const of_program = static_cast<CUstream>(stream);
  const auto destroy = [&](CUevent event) { functions_->destroy_event(event); };
  const auto make = [&](std::unique_ptr<CUevent_st, decltype(destroy)>& into) {
    CUevent event = nullptr;
    Status made = check("cuEventCreate", functions_->cuEventCreate(&event, CU_EVENT_DEFAULT));
    if (made.ok()) into.reset(event);
    return made;
  };
  std::unique_ptr<CUevent_st, decltype(destroy)> begin(nullptr, destroy), end(nullptr, destroy);
  MNEME_TRY(make(begin));
  MNEME_TRY(make(end));
  MNEME_TRY(check("cuEventRecord", functions_->cuEventRecord(begin.get(), of_program)));
  MNEME_TRY(launch());
  MNEME_TRY(check("cuEventRecord", functions_->cuEventRecord(end.get(), of_program)));
  MNEME_TRY(check("cuEventSynchronize", functions_->cuEventSynchronize(end.get())));
  float milliseconds = 0;
  MNEME_TRY(check("cuEventElapsedTime", functions_->elapsed_time(&milliseconds, begin.get(), end.get())));
  return milliseconds * 1e6;
}

bool DriverFront::is_memory(DevicePtr address) {
  unsigned type = 0;
  return functions_->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address.address) == CUDA_SUCCESS;
}

bool DriverFront::reaches_host_memory() {
  CUdevice device = 0;
  int reaches = 0;
  return functions_->cuCtxGetDevice(&device) != CUDA_SUCCESS ||
         functions_->cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) != CUDA_SUCCESS ||
         reaches != 0;
}

Status attach_driver(mneme_driver_table& table) {
  if (table.version != MNEME_DRIVER_TABLE_VERSION || table.call_count != MNEME_DRIVER_CALL_COUNT)
    return error(Code::incompatible,
                 "the preloaded library is of another Mneme (its table has version {} and {} functions, {} and {} expected)",
                 table.version, table.call_count, MNEME_DRIVER_TABLE_VERSION, int{MNEME_DRIVER_CALL_COUNT});
  MNEME_TRY(front().attach(table));
  for (const auto& hooks :
       {driver::DriverImages<ImageFront>::hooks(), driver_launch_hooks(), driver_graph_hooks(), driver_context_hooks()})
    for (const driver::DriverHook& hook : hooks)
      if (table.real[hook.slot]) table.slots[hook.slot] = hook.handler;
  return {};
}

}  // namespace mneme::substitute
