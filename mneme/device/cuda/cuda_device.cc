#include "mneme/device/cuda/cuda_device.h"

#include <algorithm>
#include <array>

#include "mneme/base/log.h"
#include "mneme/device/cuda/context.h"
#include "mneme/device/cuda/cuda_address_space.h"
#include "mneme/device/cuda/cuda_host_mapping.h"
#include "mneme/device/cuda/cuda_module.h"
#include "mneme/device/cuda/cuda_pinned_memory.h"
#include "mneme/device/cuda/cuda_shared_memory.h"
#include "mneme/device/cuda/cuda_stream.h"
#include "mneme/device/cuda/cuda_textures.h"
#include "mneme/device/cuda/launch_clock.h"
#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/cuda/nvml.h"
#include "mneme/device/reservation_granularity.h"

namespace mneme::cuda {
namespace {

// The driver (580) rounds the address wished for up to this, and takes no wish for a smaller range.
constexpr Bytes kReservationGranularity = 32_MiB;
static_assert(kLargestReservationGranularity.count % kReservationGranularity.count == 0);

class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<Context> context, const DeviceProperties& properties, const Libraries& libraries)
      : context_(std::move(context)),
        kernels_(*context_, properties.multiprocessors),
        clock_(libraries.cupti),
        management_(libraries.management) {
    properties_ = properties;
  }

  Result<std::unique_ptr<Module>> load(const CodeImage& image) override {
    if (image.device != DeviceKind::cuda) {
      return error(Code::incompatible, "loading a code image made for {} on {}, a cuda device", to_string(image.device),
                   properties_.name);
    }
    MNEME_ASSIGN(std::unique_ptr<Module> module, CudaModule::load(*context_, image));
    return module;
  }

  Result<std::unique_ptr<Stream>> create_stream() override {
    MNEME_ASSIGN(std::unique_ptr<Stream> stream, CudaStream::create(*context_, properties_, kernels_, clock_));
    return stream;
  }

  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) override {
    return CudaAddressSpace::reserve(*context_, base, size, properties_.allocation_granularity);
  }

  Result<DevicePtr> allocate(Bytes size) override {
    ContextScope scope(*context_);
    MNEME_TRY(scope.status());
    CUdeviceptr pointer = 0;
    // The driver refuses zero bytes, for which callers want an address all the same.
    MNEME_TRY(context_->check(context_->driver().cuMemAlloc(&pointer, std::max<uint64_t>(size.count, 1)),
                              "cuMemAlloc({}), of {} on {}", size, properties_.total_memory, properties_.name));
    return DevicePtr(pointer);
  }

  Status free(DevicePtr pointer) override {
    ContextScope scope(*context_);
    MNEME_TRY(scope.status());
    return context_->check(context_->driver().cuMemFree(pointer.address), "cuMemFree({})", pointer);
  }

  Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) override {
    return CudaSharedMemory::allocate(*context_, size, properties_.allocation_granularity);
  }

  Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) override {
    return CudaSharedMemory::import(*context_, descriptor, size, properties_.allocation_granularity);
  }

  Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) override {
    return CudaHostMapping::map(*context_, address, size);
  }

  Result<std::unique_ptr<PinnedMemory>> allocate_pinned_impl(Bytes size) override {
    return CudaPinnedMemory::allocate(*context_, size);
  }

  Result<std::unique_ptr<DeviceTextures>> create_textures(const TextureSet& textures) override {
    MNEME_ASSIGN(auto made, CudaTextures::create(*context_, textures));
    return std::unique_ptr<DeviceTextures>(std::move(made));
  }

  Result<DeviceClock> clock() override {
    ContextScope scope(*context_);
    MNEME_TRY(scope.status());
    MNEME_ASSIGN(LaunchClock clock, clock_.get());
    return clock.name;
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

  LaunchObserver* launch_observer() override {
    auto clock = clock_.get();
    return clock.ok() ? clock->activity : nullptr;
  }

 private:
  std::unique_ptr<Context> context_;
  LazyMemoryKernels kernels_;  // destroyed before the context
  LazyLaunchClock clock_;
  std::string management_;
  bool monitor_tried_ = false;
  std::unique_ptr<ClockMonitor> monitor_;
};

// Zero where the device has no virtual memory management.
Result<Bytes> granularity_of(const Context& context) {
  MNEME_ASSIGN(int supported,
               context.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"));
  if (supported == 0) return Bytes(0);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.device();
  size_t granularity = 0;
  MNEME_TRY(
      context.check(context.driver().cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "cuMemGetAllocationGranularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM)"));
  return Bytes(granularity);
}

Result<DeviceProperties> properties_of(const Context& context) {
  const Driver& driver = context.driver();
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

#define MNEME_CUDA_ATTRIBUTE(variable, name) MNEME_ASSIGN(int variable, context.attribute(CU_DEVICE_ATTRIBUTE_##name, #name))
  MNEME_CUDA_ATTRIBUTE(major, COMPUTE_CAPABILITY_MAJOR);
  MNEME_CUDA_ATTRIBUTE(minor, COMPUTE_CAPABILITY_MINOR);
  MNEME_CUDA_ATTRIBUTE(warp_size, WARP_SIZE);
  MNEME_CUDA_ATTRIBUTE(multiprocessors, MULTIPROCESSOR_COUNT);
  MNEME_CUDA_ATTRIBUTE(threads, MAX_THREADS_PER_BLOCK);
  MNEME_CUDA_ATTRIBUTE(block_x, MAX_BLOCK_DIM_X);
  MNEME_CUDA_ATTRIBUTE(block_y, MAX_BLOCK_DIM_Y);
  MNEME_CUDA_ATTRIBUTE(block_z, MAX_BLOCK_DIM_Z);
  MNEME_CUDA_ATTRIBUTE(grid_x, MAX_GRID_DIM_X);
  MNEME_CUDA_ATTRIBUTE(grid_y, MAX_GRID_DIM_Y);
  MNEME_CUDA_ATTRIBUTE(grid_z, MAX_GRID_DIM_Z);
  MNEME_CUDA_ATTRIBUTE(shared, MAX_SHARED_MEMORY_PER_BLOCK);
  MNEME_CUDA_ATTRIBUTE(shared_opt_in, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  MNEME_CUDA_ATTRIBUTE(l2_cache, L2_CACHE_SIZE);
  MNEME_CUDA_ATTRIBUTE(clusters, CLUSTER_LAUNCH);
  MNEME_CUDA_ATTRIBUTE(resident_threads, MAX_THREADS_PER_MULTIPROCESSOR);
#undef MNEME_CUDA_ATTRIBUTE
  auto dim3 = [](int x, int y, int z) {
    return Dim3{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
  };
  properties.architecture = fmt::format("sm_{}{}", major, minor);
  properties.warp_size = static_cast<uint32_t>(warp_size);
  properties.multiprocessors = static_cast<uint32_t>(multiprocessors);
  properties.max_threads_per_block = static_cast<uint32_t>(threads);
  properties.max_block = dim3(block_x, block_y, block_z);
  properties.max_grid = dim3(grid_x, grid_y, grid_z);
  properties.max_shared_memory_per_block = Bytes(std::max(shared, shared_opt_in));
  properties.clusters = clusters != 0;
  properties.l2_cache = Bytes(static_cast<uint64_t>(std::max(l2_cache, 0)));
  properties.max_threads_per_multiprocessor = static_cast<uint32_t>(resident_threads);
  MNEME_ASSIGN(properties.allocation_granularity, granularity_of(context));
  properties.reservation_granularity = kReservationGranularity;
  return properties;
}

}  // namespace

Result<int> count_devices(const std::string& library) {
  MNEME_ASSIGN(const Driver* driver, open_driver(library));
  return count_devices(*driver);
}

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  return open_device(ordinal, {kDriverLibrary, cupti_paths(), kManagementLibrary});
}

Result<std::unique_ptr<Device>> open_device(int ordinal, const Libraries& libraries) {
  MNEME_ASSIGN(const Driver* driver, open_driver(libraries.driver));
  MNEME_ASSIGN(std::unique_ptr<Context> context, Context::open(*driver, ordinal));
  MNEME_ASSIGN(DeviceProperties properties, properties_of(*context));
  return std::unique_ptr<Device>(new CudaDevice(std::move(context), properties, libraries));
}

}  // namespace mneme::cuda
