#include "mneme/device/gpu/gpu_module.h"

#include <elf.h>

#include <cstring>

namespace mneme::gpu {

Status GpuKernel::prepare() {
  MNEME_ASSIGN(int registers, attribute(FunctionAttribute::registers, "NUM_REGS"));
  MNEME_ASSIGN(int local, attribute(FunctionAttribute::local_memory, "LOCAL_SIZE_BYTES"));
  MNEME_ASSIGN(int constant, attribute(FunctionAttribute::constant_memory, "CONST_SIZE_BYTES"));
  MNEME_ASSIGN(int shared, attribute(FunctionAttribute::static_shared_memory, "SHARED_SIZE_BYTES"));
  MNEME_ASSIGN(int threads, attribute(FunctionAttribute::max_threads_per_block, "MAX_THREADS_PER_BLOCK"));
  resources_.registers = registers;
  resources_.local_memory = Bytes(local);
  resources_.constant_memory = Bytes(constant);
  resources_.static_shared_memory = Bytes(shared);
  resources_.max_threads_per_block = threads;
  return {};
}

Result<int> GpuKernel::attribute(FunctionAttribute attribute, const char* name) const {
  int value = 0;
  MNEME_TRY(context_.check_call(context_.api().function_attribute(&value, attribute, function_),
                                context_.words().function_attribute, "({}, {})", name, name_));
  return value;
}

Result<std::optional<uint32_t>> GpuKernel::active_blocks(const LaunchShape& shape) const {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(allow({.grid = shape.grid, .block = shape.block, .dynamic_shared_memory = shape.dynamic_shared_memory}));
  int blocks = 0;
  const auto threads = static_cast<int>(shape.block.volume());
  MNEME_TRY(context_.check_call(context_.api().occupancy(&blocks, function_, threads, shape.dynamic_shared_memory.count),
                                context_.words().occupancy, "({}, block {})", name_, shape.block));
  return std::optional(static_cast<uint32_t>(blocks));
}

Status GpuKernel::expect_arguments(std::span<const PackedPlace> places) {
  places_.assign(places.begin(), places.end());
  return {};
}

GpuModule::~GpuModule() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.api().unload(handle_);
}

std::unique_ptr<GpuKernel> GpuModule::make_kernel(FunctionHandle function, const std::string& name) const {
  return std::make_unique<GpuKernel>(context_, function, name);
}

Result<Kernel*> GpuModule::kernel(const std::string& name) {
  MNEME_ASSIGN(Kernel * found, gpu_kernel(name));
  return found;
}

Result<GpuKernel*> GpuModule::gpu_kernel(const std::string& name) {
  auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second.get();
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  FunctionHandle function = nullptr;
  MNEME_TRY(context_.check_call(context_.api().find_function(&function, handle_, name.c_str()), context_.words().find_function,
                                "({})", name));
  std::unique_ptr<GpuKernel> kernel = make_kernel(function, name);
  MNEME_TRY(kernel->prepare());
  return kernels_.emplace(name, std::move(kernel)).first->second.get();
}

Result<MemoryRange> GpuModule::global(const std::string& name) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  uint64_t address = 0;
  size_t size = 0;
  MNEME_TRY(context_.check_call(context_.api().find_global(&address, &size, handle_, name.c_str()), context_.words().find_global,
                                "({})", name));
  return MemoryRange{DevicePtr(address), Bytes(size)};
}

bool is_elf(ByteSpan image) { return image.size() >= SELFMAG && memcmp(image.data(), ELFMAG, SELFMAG) == 0; }

Status check_elf(ByteSpan image, const ElfKind& kind) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header)
    return error(Code::corrupt, "loading a {}: {} bytes, fewer than its header has", kind.name, image.size());
  memcpy(&header, image.data(), sizeof header);
  if (header.e_machine != kind.machine) {
    return error(Code::incompatible, "loading a code image: an ELF file for machine {}, where a {} (machine {}) is wanted",
                 header.e_machine, kind.name, kind.machine);
  }
  uint64_t tables[][3] = {{header.e_shoff, header.e_shentsize, header.e_shnum},
                          {header.e_phoff, header.e_phentsize, header.e_phnum}};
  for (auto [offset, entry, count] : tables) {
    if (offset > image.size() || entry * count > image.size() - offset) {
      return error(Code::corrupt, "loading a {}: its header names {} bytes at offset {}, past its end at {}", kind.name,
                   entry * count, offset, image.size());
    }
  }
  return {};
}

}  // namespace mneme::gpu
