#include "mneme/substitute/table.h"

#include <dlfcn.h>

#include <memory>

#include "mneme/abi/deployed_code.h"
#include "mneme/hooks/find_global.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/attach.h"
#include "mneme/substitute/relaxed_capture.h"

namespace mneme::substitute {
namespace {

// What the CPU device's code is made for.
constexpr const char* kHostArchitecture = "x86-64-v3";

auto relaxed_capture(const CallTable& table) {
  return RelaxedCapture(MNEME_NEXT(table, cudaThreadExchangeStreamCaptureMode), cudaStreamCaptureModeRelaxed);
}

}  // namespace

Table& Table::attached(uint32_t index) {
  static auto* tables = new std::array<Table, MNEME_MAX_TABLES>;
  return (*tables)[index];
}

template <typename Call>
Status Table::quietly(const char* what, Call call) {
  const bool pending = MNEME_NEXT(*this, cudaPeekAtLastError)() != cudaSuccess;
  const cudaError_t code = call();
  if (code == cudaSuccess) return {};
  if (!pending) (void)MNEME_NEXT(*this, cudaGetLastError)();
  return error(Code::device_fault, "{} returned {}", what, static_cast<int>(code));
}

// Of each launch. Where this fails the launch fails too, with the same error: what is pending is not asked for. Of one device
// there is nothing to ask: what is launched is found by the vendor in whatever context there is.
int Table::current_device() {
  int ordinal = 0, devices = devices_.load(std::memory_order_relaxed);
  if (devices == 1) return ordinal;
  if (MNEME_NEXT(*this, cudaGetDevice)(&ordinal) != cudaSuccess) return -1;
  if (devices == 0 && quietly("cudaGetDeviceCount", [&] { return MNEME_NEXT(*this, cudaGetDeviceCount)(&devices); }).ok()) {
    if (devices == 1) find_driver_launch();
    devices_.store(devices, std::memory_order_relaxed);
  }
  return ordinal;
}

bool Table::is_of_current_device(cudaStream_t stream) {
  if (abi().device != MNEME_TABLE_HIP || stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
      has_one_device())
    return true;
  int of_stream = -1;
  return MNEME_NEXT(*this, cudaStreamGetDevice)(stream, &of_stream) == cudaSuccess && of_stream == current_device();
}

std::string_view Table::device_kind() const {
  switch (abi().device) {
    case MNEME_TABLE_CPU: return "cpu";
    case MNEME_TABLE_HIP: return "hip";
    default: return "cuda";
  }
}

// Never closed, as the runtime does not.
void* Table::driver() const {
  return abi().device == MNEME_TABLE_CUDA ? ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

// Since version 12 of the runtime the context of its device is current where it was used; before, only when that is needed next.
void Table::find_driver_launch() {
  int version = 0;
  void* const library = driver();
  if (!library || MNEME_NEXT(*this, cudaRuntimeGetVersion)(&version) != cudaSuccess || version < 12000) return;
  launch_by(reinterpret_cast<DriverLaunch>(::dlsym(library, "cuLaunchKernel")));
}

DriverNodeParameters Table::driver_node_parameters() {
  const DriverNodeParameters known = driver_node_parameters_.load(std::memory_order_relaxed);
  void* const library = known ? nullptr : driver();
  if (library) ask_nodes_by(reinterpret_cast<DriverNodeParameters>(::dlsym(library, "cuGraphKernelNodeGetParams_v2")));
  return driver_node_parameters_.load(std::memory_order_relaxed);
}

Result<std::string> Table::architecture(int ordinal) {
  if (abi().device == MNEME_TABLE_CPU) return std::string(kHostArchitecture);
  std::lock_guard lock(mutex_);
  std::string& known = architectures_.at(static_cast<size_t>(ordinal));
  if (!known.empty()) return known;
  MNEME_ASSIGN(known, abi().device == MNEME_TABLE_HIP ? ask_hip(ordinal) : ask_compute_capability(ordinal));
  return known;
}

Result<std::string> Table::ask_compute_capability(int ordinal) {
  int major = 0, minor = 0;
  const auto ask = MNEME_NEXT(*this, cudaDeviceGetAttribute);
  MNEME_TRY(quietly("cudaDeviceGetAttribute", [&] { return ask(&major, cudaDevAttrComputeCapabilityMajor, ordinal); }));
  MNEME_TRY(quietly("cudaDeviceGetAttribute", [&] { return ask(&minor, cudaDevAttrComputeCapabilityMinor, ordinal); }));
  return fmt::format("sm_{}{}", major, minor);
}

Result<std::string> Table::ask_hip(int ordinal) {
  Result<std::string> told = std::string();
  (void)quietly("hipGetDeviceProperties", [&] {
    told = hip_architecture(abi(), ordinal);
    return told.ok() ? cudaSuccess : cudaErrorUnknown;
  });
  return told;
}

Result<std::vector<uint64_t>> Table::parameter_sizes(const void*, const RegisteredKernel& kernel) {
  return sizes_in_segment(kernel);
}

Result<MemoryRange> Table::find_variable(const void* function, const RegisteredKernel& kernel, const std::string& name) {
  MNEME_ASSIGN(const std::string image_name, name_in_image(kernel, name));
  const auto table_of = [](uint32_t index) -> const CallTable& { return attached(index); };
  return find_global(*this, function, kernel, image_name, table_of);
}

Result<CodeLoader::Loaded> Table::load(ByteSpan image, const std::string& kernel) {
  const auto load_data = MNEME_NEXT(*this, cudaLibraryLoadData);
  const auto get_kernel = MNEME_NEXT(*this, cudaLibraryGetKernel);
  if (!load_data || !get_kernel) return error(Code::unsupported, "the program's CUDA runtime has no cudaLibraryLoadData");
  const auto relaxed = relaxed_capture(*this);
  cudaLibrary_t library = nullptr;
  cudaKernel_t handle = nullptr;
  MNEME_TRY(quietly("cudaLibraryLoadData",
                    [&] { return load_data(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0); }));
  MNEME_TRY(quietly("cudaLibraryGetKernel", [&] { return get_kernel(&handle, library, kernel.c_str()); }));
  return Loaded{library, handle};
}

Status Table::write_addresses(const Loaded& code, std::span<const uint64_t> addresses) {
  const auto relaxed = relaxed_capture(*this);
  void* table = nullptr;
  size_t size = 0;
  MNEME_TRY(quietly("cudaLibraryGetGlobal", [&] {
    return MNEME_NEXT(*this, cudaLibraryGetGlobal)(&table, &size, static_cast<cudaLibrary_t>(code.library), MNEME_VARIABLE_TABLE);
  }));
  MNEME_TRY(check_table_size(size, addresses));
  // In a stream of its own, which waits for no other.
  cudaStream_t stream = nullptr;
  MNEME_TRY(quietly("cudaStreamCreateWithFlags",
                    [&] { return MNEME_NEXT(*this, cudaStreamCreateWithFlags)(&stream, cudaStreamNonBlocking); }));
  Status copied = quietly("cudaMemcpyAsync", [&] {
    return MNEME_NEXT(*this, cudaMemcpyAsync)(table, addresses.data(), size, cudaMemcpyHostToDevice, stream);
  });
  if (copied.ok()) copied = quietly("cudaStreamSynchronize", [&] { return MNEME_NEXT(*this, cudaStreamSynchronize)(stream); });
  (void)MNEME_NEXT(*this, cudaStreamDestroy)(stream);
  return copied;
}

Status Table::set_attribute(const Loaded& code, int ordinal, cudaFuncAttribute attribute, int value) {
  return quietly("cudaKernelSetAttributeForDevice", [&] {
    return MNEME_NEXT(*this, cudaKernelSetAttributeForDevice)(static_cast<cudaKernel_t>(code.kernel), attribute, value, ordinal);
  });
}

Status Table::allow_shared_memory(const Loaded& code, int ordinal, Bytes size) {
  return set_attribute(code, ordinal, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(size.count));
}

Status Table::allow_large_clusters(const Loaded& code, int ordinal) {
  return set_attribute(code, ordinal, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

Result<Bytes> Table::free_memory() {
  size_t available = 0, total = 0;
  MNEME_TRY(quietly("cudaMemGetInfo", [&] { return MNEME_NEXT(*this, cudaMemGetInfo)(&available, &total); }));
  return Bytes(available);
}

Result<DevicePtr> Table::allocate(Bytes size) {
  const auto relaxed = relaxed_capture(*this);
  void* block = nullptr;
  MNEME_TRY(quietly("cudaMalloc", [&] { return MNEME_NEXT(*this, cudaMalloc)(&block, size.count); }));
  return DevicePtr(reinterpret_cast<uint64_t>(block));
}

void Table::release(DevicePtr block) {
  const auto relaxed = relaxed_capture(*this);
  (void)quietly("cudaFree", [&] { return MNEME_NEXT(*this, cudaFree)(reinterpret_cast<void*>(block.address)); });
}

Status Table::copy(DevicePtr to, DevicePtr from, Bytes size, void* stream) {
  return quietly("cudaMemcpyAsync", [&] {
    return MNEME_NEXT(*this, cudaMemcpyAsync)(reinterpret_cast<void*>(to.address), reinterpret_cast<const void*>(from.address),
                                              size.count, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
  });
}

Status Table::read(std::byte* to, DevicePtr from, Bytes size, void* stream) {
  auto* const of_program = static_cast<cudaStream_t>(stream);
  MNEME_TRY(quietly("cudaMemcpyAsync", [&] {
    return MNEME_NEXT(*this, cudaMemcpyAsync)(to, reinterpret_cast<const void*>(from.address), size.count, cudaMemcpyDeviceToHost,
                                              of_program);
  }));
  return quietly("cudaStreamSynchronize", [&] { return MNEME_NEXT(*this, cudaStreamSynchronize)(of_program); });
}

Status Table::write(DevicePtr to, const std::byte* from, Bytes size, void* stream) {
  auto* const of_program = static_cast<cudaStream_t>(stream);
  MNEME_TRY(quietly("cudaMemcpyAsync", [&] {
    return MNEME_NEXT(*this, cudaMemcpyAsync)(reinterpret_cast<void*>(to.address), from, size.count, cudaMemcpyHostToDevice,
                                              of_program);
  }));
  return quietly("cudaStreamSynchronize", [&] { return MNEME_NEXT(*this, cudaStreamSynchronize)(of_program); });
}

Result<double> Table::time(void* stream, const std::function<Status()>& launch) {
  const auto destroy = [&](CUevent_st* event) { (void)MNEME_NEXT(*this, cudaEventDestroy)(event); };
  const auto make = [&](std::unique_ptr<CUevent_st, decltype(destroy)>& into) {
    cudaEvent_t event = nullptr;
    Status made = quietly("cudaEventCreate", [&] { return MNEME_NEXT(*this, cudaEventCreate)(&event); });
    into.reset(event);
    return made;
  };
  std::unique_ptr<CUevent_st, decltype(destroy)> begin(nullptr, destroy), end(nullptr, destroy);
  const auto record = [&](cudaEvent_t event) {
    return quietly("cudaEventRecord",
                   [&] { return MNEME_NEXT(*this, cudaEventRecord)(event, static_cast<cudaStream_t>(stream)); });
  };
  MNEME_TRY(make(begin));
  MNEME_TRY(make(end));
  MNEME_TRY(record(begin.get()));
  MNEME_TRY(launch());
  MNEME_TRY(record(end.get()));
  MNEME_TRY(quietly("cudaEventSynchronize", [&] { return MNEME_NEXT(*this, cudaEventSynchronize)(end.get()); }));
  float milliseconds = 0;
  MNEME_TRY(quietly("cudaEventElapsedTime",
                    [&] { return MNEME_NEXT(*this, cudaEventElapsedTime)(&milliseconds, begin.get(), end.get()); }));
  return milliseconds * 1e6;
}

bool Table::is_memory(DevicePtr address) {
  cudaPointerAttributes found{};
  const Status asked = quietly("cudaPointerGetAttributes", [&] {
    return MNEME_NEXT(*this, cudaPointerGetAttributes)(&found, reinterpret_cast<const void*>(address.address));
  });
  return asked.ok() && found.type != cudaMemoryTypeUnregistered;
}

bool Table::reaches_host_memory() {
  if (abi().device == MNEME_TABLE_CPU) return true;
  int reaches = 0;
  const Status asked = quietly("cudaDeviceGetAttribute", [&] {
    return MNEME_NEXT(*this, cudaDeviceGetAttribute)(&reaches, cudaDevAttrPageableMemoryAccess, current_device());
  });
  return !asked.ok() || reaches != 0;
}

Status attach_table(mneme_call_table& program) {
  MNEME_ASSIGN(mneme_call_table * cuda, accept_cuda_slots(program, CudaSlots::stood_before));
  mneme_call_table& abi = *cuda;
  Table& table = Table::attached(abi.index);
  table.attach(abi);
  RegistrationHooks<Table>::install(table);
  HandleHooks<Table>::install(table);
  install_launch_hooks(table);
  install_graph_hooks(table);
  install_memory_hooks(table);
  return {};
}

}  // namespace mneme::substitute
