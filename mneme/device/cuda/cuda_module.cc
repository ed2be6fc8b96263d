#include "mneme/device/cuda/cuda_module.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mneme::cuda {
namespace {

constexpr uint16_t kElfMachineCuda = 190;
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;

bool starts_with(ByteSpan image, const void* magic, size_t size) {
  return image.size() >= size && memcmp(image.data(), magic, size) == 0;
}

// The driver takes no size and would read past the end of an image that was cut short.
Status check_cubin(ByteSpan image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header)
    return error(Code::corrupt, "loading a cubin: {} bytes, fewer than its header has", image.size());
  memcpy(&header, image.data(), sizeof header);
  if (header.e_machine != kElfMachineCuda) {
    return error(Code::incompatible, "loading a code image: an ELF file for machine {}, where a cubin (machine {}) is wanted",
                 header.e_machine, kElfMachineCuda);
  }
  uint64_t tables[][3] = {{header.e_shoff, header.e_shentsize, header.e_shnum},
                          {header.e_phoff, header.e_phentsize, header.e_phnum}};
  for (auto [offset, entry, count] : tables) {
    if (offset > image.size() || entry * count > image.size() - offset) {
      return error(Code::corrupt, "loading a cubin: its header names {} bytes at offset {}, past its end at {}", entry * count,
                   offset, image.size());
    }
  }
  return {};
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

Result<std::unique_ptr<CudaKernel>> CudaKernel::create(const Context& context, CUfunction function, const std::string& name) {
  std::unique_ptr<CudaKernel> kernel(new CudaKernel(context, function));
  kernel->name_ = name;
  MNEME_ASSIGN(int registers, kernel->attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, "NUM_REGS"));
  MNEME_ASSIGN(int local, kernel->attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, "LOCAL_SIZE_BYTES"));
  MNEME_ASSIGN(int constant, kernel->attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, "CONST_SIZE_BYTES"));
  MNEME_ASSIGN(int shared, kernel->attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, "SHARED_SIZE_BYTES"));
  MNEME_ASSIGN(int threads, kernel->attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "MAX_THREADS_PER_BLOCK"));
  MNEME_ASSIGN(int dynamic, kernel->attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, "MAX_DYNAMIC_SHARED_SIZE_BYTES"));
  kernel->resources_.registers = registers;
  kernel->resources_.local_memory = Bytes(local);
  kernel->resources_.constant_memory = Bytes(constant);
  kernel->resources_.static_shared_memory = Bytes(shared);
  kernel->resources_.max_threads_per_block = threads;
  kernel->dynamic_shared_limit_ = std::max(dynamic, 0);
  return kernel;
}

Result<int> CudaKernel::attribute(CUfunction_attribute attribute, const char* name) const {
  int value = 0;
  MNEME_TRY(context_.check(context_.driver().cuFuncGetAttribute(&value, attribute, function_), "cuFuncGetAttribute({}, {})", name,
                           name_));
  return value;
}

Result<std::optional<uint32_t>> CudaKernel::active_blocks(const LaunchShape& shape) const {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(allow_dynamic_shared_memory(shape.dynamic_shared_memory));
  int blocks = 0;
  const auto threads = static_cast<int>(shape.block.volume());
  MNEME_TRY(context_.check(context_.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, threads,
                                                                                         shape.dynamic_shared_memory.count),
                           "cuOccupancyMaxActiveBlocksPerMultiprocessor({}, block {})", name_, shape.block));
  return std::optional(static_cast<uint32_t>(blocks));
}

Status CudaKernel::allow_dynamic_shared_memory(Bytes size) const {
  std::lock_guard lock(mutex_);
  if (size.count <= dynamic_shared_limit_) return {};
  constexpr auto kAttribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  MNEME_TRY(context_.check(context_.driver().cuFuncSetAttribute(function_, kAttribute, static_cast<int>(size.count)),
                           "cuFuncSetAttribute({}, MAX_DYNAMIC_SHARED_SIZE_BYTES, {}), beside {} bytes of static shared memory",
                           name_, size.count, resources_.static_shared_memory->count));
  dynamic_shared_limit_ = size.count;
  return {};
}

Status CudaKernel::allow_clusters(const Dim3& cluster) const {
  constexpr uint64_t kPortable = 8;  // blocks that every device with clusters has in one
  std::lock_guard lock(mutex_);
  if (cluster.volume() <= kPortable || large_clusters_) return {};
  MNEME_TRY(
      context_.check(context_.driver().cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                     "cuFuncSetAttribute({}, NON_PORTABLE_CLUSTER_SIZE_ALLOWED), for clusters of {} blocks", name_, cluster));
  large_clusters_ = true;
  return {};
}

Result<std::vector<PackedPlace>> CudaKernel::own_places() const {
  std::vector<PackedPlace> places;
  const auto ask = context_.driver().parameter_info;
  if (ask == nullptr) return places;
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (size_t i = 0;; ++i) {
    size_t offset = 0, size = 0;
    const CUresult result = ask(function_, i, &offset, &size);
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

Result<std::unique_ptr<CudaModule>> CudaModule::load(const Context& context, const CodeImage& code) {
  ByteSpan image = code.bytes;
  ByteVector terminated;
  bool binary = starts_with(image, ELFMAG, SELFMAG) || starts_with(image, &kFatBinaryMagic, sizeof kFatBinaryMagic);
  if (starts_with(image, ELFMAG, SELFMAG)) MNEME_TRY(check_cubin(image));
  if (!binary && (image.empty() || image.back() != std::byte{0})) {
    terminated.assign(image.begin(), image.end());
    terminated.push_back(std::byte{0});
    image = terminated;
  }
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  std::array<char, 16384> log{};
  JitArguments jit;
  jit.add(CU_JIT_ERROR_LOG_BUFFER, log.data());
  jit.add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, reinterpret_cast<void*>(log.size() - 1));
  if (!binary) jit.add(code.jit);
  CUmodule handle = nullptr;
  CUresult result = context.driver().cuModuleLoadDataEx(&handle, image.data(), jit.count(), jit.options(), jit.values());
  std::string_view words = trimmed(log.data(), log.size());
  MNEME_TRY(context.check(result, "cuModuleLoadDataEx({} of {} bytes){}{}", binary ? "a cubin" : "PTX", image.size(),
                          words.empty() ? "" : ": ", words));
  return std::unique_ptr<CudaModule>(new CudaModule(context, handle));
}

CudaModule::~CudaModule() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.driver().cuModuleUnload(handle_);
}

Result<Kernel*> CudaModule::kernel(const std::string& name) {
  auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second.get();
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  CUfunction function = nullptr;
  MNEME_TRY(
      context_.check(context_.driver().cuModuleGetFunction(&function, handle_, name.c_str()), "cuModuleGetFunction({})", name));
  MNEME_ASSIGN(std::unique_ptr<CudaKernel> kernel, CudaKernel::create(context_, function, name));
  return kernels_.emplace(name, std::move(kernel)).first->second.get();
}

Result<MemoryRange> CudaModule::global(const std::string& name) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  CUdeviceptr address = 0;
  size_t size = 0;
  MNEME_TRY(
      context_.check(context_.driver().cuModuleGetGlobal(&address, &size, handle_, name.c_str()), "cuModuleGetGlobal({})", name));
  return MemoryRange{DevicePtr(address), Bytes(size)};
}

}  // namespace mneme::cuda
