#include "mneme/device/cuda/cuda_module.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mneme::cuda {
namespace {

constexpr gpu::ElfKind kCubin{"cubin", 190};
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;

bool is_fat_binary(ByteSpan image) {
  return image.size() >= sizeof kFatBinaryMagic && memcmp(image.data(), &kFatBinaryMagic, sizeof kFatBinaryMagic) == 0;
}

std::string_view trimmed(const char* log, size_t capacity) {
  std::string_view text(log, strnlen(log, capacity));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// The parallel arrays that the driver takes.
class JitArguments {
 public:
  void add(CUjit_option option, void* value) {
    options_.push_back(option);
    values_.push_back(value);
  }
  void add(const JitOptions& jit) {
    if (jit.level) add(CU_JIT_OPTIMIZATION_LEVEL, number(*jit.level));
    if (jit.max_registers) add(CU_JIT_MAX_REGISTERS, number(*jit.max_registers));
    if (jit.load_cache != JitOptions::LoadCache::unset) {
      add(CU_JIT_CACHE_MODE,
          number(jit.load_cache == JitOptions::LoadCache::cg ? CU_JIT_CACHE_OPTION_CG : CU_JIT_CACHE_OPTION_CA));
    }
  }
  unsigned count() const { return static_cast<unsigned>(options_.size()); }
  CUjit_option* options() { return options_.data(); }
  void** values() { return values_.data(); }

 private:
  static void* number(uintptr_t value) { return reinterpret_cast<void*>(value); }
  std::vector<CUjit_option> options_;
  std::vector<void*> values_;
};

}  // namespace

Status CudaKernel::prepare() {
  MNEME_TRY(GpuKernel::prepare());
  MNEME_ASSIGN(int dynamic, attribute(gpu::FunctionAttribute::max_dynamic_shared_memory, "MAX_DYNAMIC_SHARED_SIZE_BYTES"));
  dynamic_shared_limit_ = std::max(dynamic, 0);
  return {};
}

Status CudaKernel::allow(const LaunchShape& shape) const {
  MNEME_TRY(allow_dynamic_shared_memory(shape.dynamic_shared_memory));
  return allow_clusters(shape.cluster);
}

Status CudaKernel::allow_dynamic_shared_memory(Bytes size) const {
  std::lock_guard lock(mutex_);
  if (size.count <= dynamic_shared_limit_) return {};
  constexpr auto kAttribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  MNEME_TRY(context_.check(driver_of(context_).cuFuncSetAttribute(cuda_function(), kAttribute, static_cast<int>(size.count)),
                           "cuFuncSetAttribute({}, MAX_DYNAMIC_SHARED_SIZE_BYTES, {}), beside {} bytes of static shared memory",
                           name_, size.count, resources_.static_shared_memory->count));
  dynamic_shared_limit_ = size.count;
  return {};
}

Status CudaKernel::allow_clusters(const Dim3& cluster) const {
  constexpr uint64_t kPortable = 8;  // blocks that every device with clusters has in one
  std::lock_guard lock(mutex_);
  if (cluster.volume() <= kPortable || large_clusters_) return {};
  MNEME_TRY(context_.check(
      driver_of(context_).cuFuncSetAttribute(cuda_function(), CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      "cuFuncSetAttribute({}, NON_PORTABLE_CLUSTER_SIZE_ALLOWED), for clusters of {} blocks", name_, cluster));
  large_clusters_ = true;
  return {};
}

Result<std::vector<PackedPlace>> CudaKernel::own_places() const {
  std::vector<PackedPlace> places;
  const auto ask = driver_of(context_).parameter_info;
  if (ask == nullptr) return places;
  gpu::ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (size_t i = 0;; ++i) {
    size_t offset = 0, size = 0;
    const CUresult result = ask(cuda_function(), i, &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return places;  // there are no more
    MNEME_TRY(context_.check(result, "cuFuncGetParamInfo({}, {})", name_, i));
    places.push_back({offset, size});
  }
}

// The assembler aligns the address of a parameter in the constant bank, where other words stand before the first one: 0x210 bytes
// on sm_90. A struct of alignment 64 behind seven pointers is therefore at 112 there, and at 64 in the IR's layout.
Status CudaKernel::expect_arguments(std::span<const PackedPlace> places) {
  MNEME_ASSIGN(std::vector<PackedPlace> own, own_places());
  given_.clear();
  own_.clear();
  if (!std::ranges::equal(own, places, {}, &PackedPlace::size, &PackedPlace::size) || std::ranges::equal(own, places)) return {};
  given_.assign(places.begin(), places.end());
  own_ = std::move(own);
  return {};
}

std::optional<ByteVector> CudaKernel::moved(ByteSpan parameters) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < own_.size(); ++i) {
    if (given_[i].offset > parameters.size() || given_[i].size > parameters.size() - given_[i].offset) return std::nullopt;
    bytes = std::max(bytes, own_[i].offset + own_[i].size);
  }
  if (bytes == 0) return std::nullopt;
  ByteVector result(bytes);
  for (size_t i = 0; i < own_.size(); ++i)
    std::ranges::copy(parameters.subspan(given_[i].offset, given_[i].size),
                      result.begin() + static_cast<ptrdiff_t>(own_[i].offset));
  return result;
}

Result<std::unique_ptr<CudaModule>> CudaModule::load(const gpu::Context& context, const CodeImage& code) {
  ByteSpan image = code.bytes;
  ByteVector terminated;
  bool binary = gpu::is_elf(image) || is_fat_binary(image);
  if (gpu::is_elf(image)) MNEME_TRY(gpu::check_elf(image, kCubin));
  if (!binary && (image.empty() || image.back() != std::byte{0})) {
    terminated.assign(image.begin(), image.end());
    terminated.push_back(std::byte{0});
    image = terminated;
  }
  gpu::ContextScope scope(context);
  MNEME_TRY(scope.status());
  std::array<char, 16384> log{};
  JitArguments jit;
  jit.add(CU_JIT_ERROR_LOG_BUFFER, log.data());
  jit.add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, reinterpret_cast<void*>(log.size() - 1));
  if (!binary) jit.add(code.jit);
  CUmodule handle = nullptr;
  CUresult result = driver_of(context).cuModuleLoadDataEx(&handle, image.data(), jit.count(), jit.options(), jit.values());
  std::string_view words = trimmed(log.data(), log.size());
  MNEME_TRY(context.check(result, "cuModuleLoadDataEx({} of {} bytes){}{}", binary ? "a cubin" : "PTX", image.size(),
                          words.empty() ? "" : ": ", words));
  return std::unique_ptr<CudaModule>(new CudaModule(context, reinterpret_cast<gpu::ModuleHandle>(handle)));
}

std::unique_ptr<gpu::GpuKernel> CudaModule::make_kernel(gpu::FunctionHandle function, const std::string& name) const {
  return std::make_unique<CudaKernel>(context_, function, name);
}

}  // namespace mneme::cuda
