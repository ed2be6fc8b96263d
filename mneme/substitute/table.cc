#include "mneme/substitute/table.h"

#include "mneme/abi/deployed_code.h"
#include "mneme/hooks/find_global.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/attach.h"

namespace mneme::substitute {
namespace {

// What the CPU device's code is made for.
constexpr const char* kHostArchitecture = "x86-64-v3";

// What a call of ours does meanwhile, such as a copy, ends no capture of the program's in another thread.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CallTable& table) : exchange_(MNEME_NEXT(table, cudaThreadExchangeStreamCaptureMode)) {
    (void)exchange_(&mode_);
  }
  ~RelaxedCapture() { (void)exchange_(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  decltype(&::cudaThreadExchangeStreamCaptureMode) exchange_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

Process*& process() {
  static Process* only = nullptr;
  return only;
}

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

Result<int> Table::current_device() {
  int ordinal = 0;
  MNEME_TRY(quietly("cudaGetDevice", [&] { return MNEME_NEXT(*this, cudaGetDevice)(&ordinal); }));
  return ordinal;
}

Result<std::string> Table::architecture(int ordinal) {
  if (abi().device == MNEME_TABLE_CPU) return std::string(kHostArchitecture);
  std::lock_guard lock(mutex_);
  std::string& known = architectures_.at(static_cast<size_t>(ordinal));
  if (!known.empty()) return known;
  int major = 0, minor = 0;
  const auto ask = MNEME_NEXT(*this, cudaDeviceGetAttribute);
  MNEME_TRY(quietly("cudaDeviceGetAttribute", [&] { return ask(&major, cudaDevAttrComputeCapabilityMajor, ordinal); }));
  MNEME_TRY(quietly("cudaDeviceGetAttribute", [&] { return ask(&minor, cudaDevAttrComputeCapabilityMinor, ordinal); }));
  return known = fmt::format("sm_{}{}", major, minor);
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
  const RelaxedCapture relaxed(*this);
  cudaLibrary_t library = nullptr;
  cudaKernel_t handle = nullptr;
  MNEME_TRY(quietly("cudaLibraryLoadData",
                    [&] { return load_data(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0); }));
  MNEME_TRY(quietly("cudaLibraryGetKernel", [&] { return get_kernel(&handle, library, kernel.c_str()); }));
  return Loaded{library, handle};
}

Status Table::write_addresses(const Loaded& code, std::span<const uint64_t> addresses) {
  const RelaxedCapture relaxed(*this);
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

Status Table::allow_shared_memory(const Loaded& code, int ordinal, Bytes size) {
  return quietly("cudaKernelSetAttributeForDevice", [&] {
    return MNEME_NEXT(*this, cudaKernelSetAttributeForDevice)(static_cast<cudaKernel_t>(code.kernel),
                                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                              static_cast<int>(size.count), ordinal);
  });
}

Status attach_table(mneme_call_table& abi) {
  MNEME_TRY(accept_table(abi));
  Table& table = Table::attached(abi.index);
  table.attach(abi);
  RegistrationHooks<Table>::install(table);
  HandleHooks<Table>::install(table);
  install_launch_hooks(table);
  install_memory_hooks(table);
  return {};
}

}  // namespace mneme::substitute
