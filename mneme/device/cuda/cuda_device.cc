#include "mneme/device/cuda/cuda_device.h"

#include <algorithm>
#include <array>

#include "mneme/base/log.h"
#include "mneme/device/cuda/cuda_module.h"
#include "mneme/device/cuda/cuda_texture_api.h"
#include "mneme/device/cuda/launch_clock.h"
#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/cuda/nvml.h"
#include "mneme/device/gpu/device_attributes.h"
#include "mneme/device/gpu/gpu_device.h"
#include "mneme/device/gpu/gpu_textures.h"
#include "mneme/device/reservation_granularity.h"

namespace mneme::cuda {
namespace {

// The driver (580) rounds the address wished for up to this, and takes no wish for a smaller range.
constexpr Bytes kReservationGranularity = 32_MiB;
static_assert(kLargestReservationGranularity.count % kReservationGranularity.count == 0);

class CudaDevice final : public gpu::GpuDevice {
 public:
  CudaDevice(std::unique_ptr<gpu::Context> context, const DeviceProperties& properties, const Libraries& libraries)
      : GpuDevice(std::move(context), properties, load_kernels, std::make_unique<CudaLaunchClock>(libraries.cupti)),
        management_(libraries.management) {}

  Result<std::unique_ptr<DeviceTextures>> create_textures(const TextureSet& textures) override {
    return gpu::GpuTextures::create(context(), std::make_unique<CudaTextureApi>(driver_of(context())), textures);
  }

  Status raise_limits(const LaunchLimits& limits) {
    const gpu::ContextScope scope(context());
    MNEME_TRY(scope.status());
    MNEME_TRY(raise(CU_LIMIT_STACK_SIZE, limits.stack.count, "CU_LIMIT_STACK_SIZE"));
    return raise(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, limits.pending_launches, "CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT");
  }

  std::optional<ClockReading> read_clocks() override {
    if (!monitor_tried_) {
      monitor_tried_ = true;
      auto opened = ClockMonitor::open(properties_.hardware_id, management_);
      if (opened.ok())
        monitor_ = std::move(opened).value();
      else
        log::debug("{}", opened.status().message());
    }
    return monitor_ ? monitor_->read() : std::nullopt;
  }

 private:
  Status raise(CUlimit limit, uint64_t value, const char* name) {
    size_t now = 0;
    if (value == 0 || (driver_of(context()).cuCtxGetLimit(&now, limit) == CUDA_SUCCESS && now >= value)) return {};
    return context().check(driver_of(context()).cuCtxSetLimit(limit, value), "cuCtxSetLimit({}, {})", name, value);
  }

  Result<std::unique_ptr<gpu::GpuModule>> load_module(const CodeImage& image) override {
    MNEME_ASSIGN(std::unique_ptr<gpu::GpuModule> module, CudaModule::load(context(), image));
    return module;
  }

  std::string management_;
  bool monitor_tried_ = false;
  std::unique_ptr<ClockMonitor> monitor_;
};

Result<int> attribute_of(const gpu::Context& context, CUdevice_attribute attribute, const char* name) {
  int value = 0;
  MNEME_TRY(context.check(driver_of(context).cuDeviceGetAttribute(&value, attribute, context.device()),
                          "cuDeviceGetAttribute({})", name));
  return value;
}

// Zero where the device has no virtual memory management.
Result<Bytes> granularity_of(const gpu::Context& context) {
  MNEME_ASSIGN(int supported, attribute_of(context, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                           "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"));
  if (supported == 0) return Bytes(0);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.device();
  size_t granularity = 0;
  MNEME_TRY(
      context.check(driver_of(context).cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "cuMemGetAllocationGranularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM)"));
  return Bytes(granularity);
}

#define MNEME_CUDA_ATTRIBUTE(name) (gpu::Attribute{CU_DEVICE_ATTRIBUTE_##name, #name})
constexpr gpu::DeviceAttributes kAttributes = {
    .warp_size = MNEME_CUDA_ATTRIBUTE(WARP_SIZE),
    .multiprocessors = MNEME_CUDA_ATTRIBUTE(MULTIPROCESSOR_COUNT),
    .max_threads_per_block = MNEME_CUDA_ATTRIBUTE(MAX_THREADS_PER_BLOCK),
    .max_block_x = MNEME_CUDA_ATTRIBUTE(MAX_BLOCK_DIM_X),
    .max_block_y = MNEME_CUDA_ATTRIBUTE(MAX_BLOCK_DIM_Y),
    .max_block_z = MNEME_CUDA_ATTRIBUTE(MAX_BLOCK_DIM_Z),
    .max_grid_x = MNEME_CUDA_ATTRIBUTE(MAX_GRID_DIM_X),
    .max_grid_y = MNEME_CUDA_ATTRIBUTE(MAX_GRID_DIM_Y),
    .max_grid_z = MNEME_CUDA_ATTRIBUTE(MAX_GRID_DIM_Z),
    .max_shared_memory_per_block = MNEME_CUDA_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK),
    .l2_cache = MNEME_CUDA_ATTRIBUTE(L2_CACHE_SIZE),
    .max_threads_per_multiprocessor = MNEME_CUDA_ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR),
};

Result<DeviceProperties> properties_of(const gpu::Context& context) {
  const Driver& driver = driver_of(context);
  DeviceProperties properties;
  properties.kind = DeviceKind::cuda;
  std::array<char, 256> name{};
  MNEME_TRY(context.check(driver.cuDeviceGetName(name.data(), name.size() - 1, context.device()), "cuDeviceGetName({})",
                          context.device()));
  properties.name = name.data();
  size_t memory = 0;
  MNEME_TRY(context.check(driver.cuDeviceTotalMem(&memory, context.device()), "cuDeviceTotalMem({})", context.device()));
  properties.total_memory = Bytes(memory);
  std::array<char, 32> address{};
  MNEME_TRY(context.check(driver.cuDeviceGetPCIBusId(address.data(), address.size() - 1, context.device()),
                          "cuDeviceGetPCIBusId({})", context.device()));
  properties.hardware_id = address.data();

  const auto ask = [&](const gpu::Attribute& attribute) {
    return attribute_of(context, static_cast<CUdevice_attribute>(attribute.number), attribute.name);
  };
  MNEME_TRY(gpu::read_attributes(kAttributes, ask, properties));
  MNEME_ASSIGN(const int major, ask(MNEME_CUDA_ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR)));
  MNEME_ASSIGN(const int minor, ask(MNEME_CUDA_ATTRIBUTE(COMPUTE_CAPABILITY_MINOR)));
  MNEME_ASSIGN(const int shared, ask(MNEME_CUDA_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)));
  MNEME_ASSIGN(const int clusters, ask(MNEME_CUDA_ATTRIBUTE(CLUSTER_LAUNCH)));
  properties.architecture = fmt::format("sm_{}{}", major, minor);
  properties.max_shared_memory_per_block =
      std::max(properties.max_shared_memory_per_block, Bytes(static_cast<uint64_t>(std::max(shared, 0))));
  properties.clusters = clusters != 0;
  MNEME_ASSIGN(properties.allocation_granularity, granularity_of(context));
  properties.reservation_granularity = kReservationGranularity;
  return properties;
}
#undef MNEME_CUDA_ATTRIBUTE

}  // namespace

Status raise_limits(Device& device, const LaunchLimits& limits) { return static_cast<CudaDevice&>(device).raise_limits(limits); }

Result<int> count_devices(const std::string& library) {
  MNEME_ASSIGN(const Driver* driver, open_driver(library));
  return gpu::count_devices(CudaApi(*driver));
}

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  return open_device(ordinal, {kDriverLibrary, cupti_paths(), kManagementLibrary});
}

Result<std::unique_ptr<Device>> open_device(int ordinal, const Libraries& libraries) {
  MNEME_ASSIGN(const Driver* driver, open_driver(libraries.driver));
  MNEME_ASSIGN(std::unique_ptr<gpu::Context> context, gpu::Context::open(std::make_unique<CudaApi>(*driver), ordinal));
  MNEME_ASSIGN(DeviceProperties properties, properties_of(*context));
  return std::unique_ptr<Device>(new CudaDevice(std::move(context), properties, libraries));
}

}  // namespace mneme::cuda
