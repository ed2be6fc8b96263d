#include "mneme/cpu/run/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "mneme/base/processors.h"
#include "mneme/cpu/run/cpu_module.h"
#include "mneme/cpu/run/cpu_stream.h"
#include "mneme/cpu/run/cpu_textures.h"
#include "mneme/device/host_shared_memory.h"

namespace mneme::cpu {
namespace {

constexpr char kArchitecture[] = "x86-64-v3";
// As much as an H200 gives a block, so that what runs there runs here.
constexpr Bytes kSharedMemory = 227_KiB;

std::string processor_name() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> info(std::fopen("/proc/cpuinfo", "re"), std::fclose);
  char line[512];
  while (info && std::fgets(line, sizeof line, info.get()) != nullptr) {
    const char* value = std::strncmp(line, "model name", 10) == 0 ? std::strchr(line, ':') : nullptr;
    if (value == nullptr) continue;
    std::string name = value + 1;
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(" \n") + 1);
    return name;
  }
  return "x86-64 processor";
}

}  // namespace

CpuDevice::CpuDevice(unsigned workers) : executor_(workers) {
  properties_.kind = DeviceKind::cpu;
  properties_.name = processor_name();
  properties_.architecture = kArchitecture;
  properties_.warp_size = kSmallestWarp;
  properties_.multiprocessors = workers;
  properties_.max_threads_per_block = kMaxThreads;
  properties_.max_shared_memory_per_block = kSharedMemory;
  properties_.total_memory =
      Bytes(static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  properties_.allocation_granularity = kHostGranularity;
  properties_.reservation_granularity = kHostGranularity;
}

Result<std::unique_ptr<Module>> CpuDevice::load(const CodeImage& image) {
  MNEME_TRY(executor_.usable());
  MNEME_ASSIGN(auto module, CpuModule::load(image));
  return std::unique_ptr<Module>(std::move(module));
}

Result<std::unique_ptr<Stream>> CpuDevice::create_stream() {
  MNEME_TRY(executor_.usable());
  return std::unique_ptr<Stream>(std::make_unique<CpuStream>(properties_, executor_));
}

Result<std::unique_ptr<AddressSpace>> CpuDevice::reserve(DevicePtr base, Bytes size) {
  MNEME_TRY(executor_.usable());
  return reserve_host_range(base, size);
}

Result<std::unique_ptr<HostMapping>> CpuDevice::map_host(DevicePtr address, Bytes size) {
  MNEME_TRY(executor_.usable());
  return map_host_range(address, size);
}

Result<DevicePtr> CpuDevice::allocate(Bytes size) {
  MNEME_TRY(executor_.usable());
  return memory_.allocate(size);
}

Result<std::unique_ptr<SharedMemory>> CpuDevice::allocate_shared(Bytes size) {
  MNEME_TRY(executor_.usable());
  return allocate_shared_host_memory(size);
}

Result<std::unique_ptr<SharedMemory>> CpuDevice::import_shared(const Descriptor& descriptor, Bytes size) {
  MNEME_TRY(executor_.usable());
  return import_shared_host_memory(descriptor, size);
}

Result<std::unique_ptr<DeviceTextures>> CpuDevice::create_textures(const TextureSet& textures) {
  MNEME_TRY(executor_.usable());
  MNEME_ASSIGN(auto made, CpuTextures::create(executor_.textures(), textures));
  return std::unique_ptr<DeviceTextures>(std::move(made));
}

Status CpuDevice::free(DevicePtr pointer) { return memory_.free(pointer); }

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  if (ordinal != 0)
    return error(Code::unavailable, "opening cpu device {}: there is only device 0, which uses all cores", ordinal);
  if (!__builtin_cpu_supports("x86-64-v3")) {
    return error(Code::unavailable,
                 "opening cpu device 0: its images need a processor of level {} (AVX2, BMI2, FMA), this is '{}'", kArchitecture,
                 processor_name());
  }
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(usable_processors()));
}

std::optional<Fault> last_fault(Device& device) {
  if (device.properties().kind != DeviceKind::cpu) return std::nullopt;
  return static_cast<CpuDevice&>(device).executor().fault();
}

void raise_heap(Device& device, Bytes size) {
  if (device.properties().kind != DeviceKind::cpu) return;
  static_cast<CpuDevice&>(device).executor().heap().set_limit(std::max(size, Heap::kUsual));
}

TextureTable& textures(Device& device) { return static_cast<CpuDevice&>(device).executor().textures(); }

bool order_blocks(Device& device, std::optional<uint64_t> seed) {
  auto* cpu = dynamic_cast<CpuDevice*>(&device);
  if (cpu) cpu->executor().order_blocks(seed);
  return cpu != nullptr;
}

std::span<const mneme_cpu_parameter> parameters_of(const Kernel& kernel) {
  const mneme_cpu_kernel& entry = static_cast<const CpuKernel&>(kernel).entry();
  return {entry.parameters, entry.parameter_count};
}
Bytes packed_bytes(const Kernel& kernel) { return Bytes(static_cast<const CpuKernel&>(kernel).entry().param_bytes); }

std::span<const mneme_cpu_global> globals_of(const Module& module) {
  const mneme_cpu_image& table = static_cast<const CpuModule&>(module).table();
  return {table.globals, table.global_count};
}

}  // namespace mneme::cpu
