#include "mneme/device/hip/hip_device.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mneme/device/gpu/device_attributes.h"
#include "mneme/device/gpu/gpu_device.h"
#include "mneme/device/gpu/gpu_textures.h"
#include "mneme/device/hip/code_objects.h"
#include "mneme/device/hip/hip_api.h"
#include "mneme/device/hip/hip_module.h"
#include "mneme/device/hip/hip_texture_api.h"
#include "mneme/device/hip/launch_clock.h"

namespace mneme::hip {
namespace {

class HipDevice final : public gpu::GpuDevice {
 public:
  HipDevice(std::unique_ptr<gpu::Context> context, const DeviceProperties& properties)
      : GpuDevice(std::move(context), properties, kernel_loader(properties.architecture), std::make_unique<HipLaunchClock>()) {}

  Result<std::unique_ptr<DeviceTextures>> create_textures(const TextureSet& textures) override {
    const Driver& driver = driver_of(context());
    int has_images = 0;
    const Error known = driver.hipDeviceGetAttribute(&has_images, Attribute::image_support, context().device());
    if (known == gpu::kSuccess && has_images == 0)
      return error(
          Code::unsupported,
          "{} ({}) has no instructions for images, as its runtime says: launches with textures and surfaces are for GPUs "
          "that have them (gfx1030, gfx1100 and the like), and for the CPU device (--device cpu)",
          properties_.name, properties_.architecture);
    return gpu::GpuTextures::create(context(), std::make_unique<HipTextureApi>(driver), textures);
  }

 private:
  Result<std::unique_ptr<gpu::GpuModule>> load_module(const CodeImage& image) override {
    MNEME_ASSIGN(std::unique_ptr<gpu::GpuModule> module, HipModule::load(context(), image.bytes));
    return module;
  }
};

Result<int> attribute_of(const gpu::Context& context, Attribute attribute, const char* name) {
  int value = 0;
  MNEME_TRY(context.check(driver_of(context).hipDeviceGetAttribute(&value, attribute, context.device()),
                          "hipDeviceGetAttribute({})", name));
  return value;
}

// Zero where the device, or the runtime, has no virtual memory management. ROCm 5.2 does not know the attribute.
Result<Bytes> granularity_of(const gpu::Context& context) {
  const Driver& driver = driver_of(context);
  int supported = 0;
  const Error known = driver.hipDeviceGetAttribute(&supported, Attribute::virtual_memory_management, context.device());
  if (known == kInvalidValue || known == kNotSupported || (known == gpu::kSuccess && supported == 0)) return Bytes(0);
  MNEME_TRY(context.check(known, "hipDeviceGetAttribute(hipDeviceAttributeVirtualMemoryManagementSupported)"));
  AllocationProperties properties;
  properties.location.device = context.device();
  size_t granularity = 0;
  MNEME_TRY(context.check(driver.hipMemGetAllocationGranularity(&granularity, &properties, kMinimumGranularity),
                          "hipMemGetAllocationGranularity(hipMemAllocationGranularityMinimum)"));
  // Places in the reserved range are pages of the host, whatever smaller granules the runtime has.
  return Bytes(std::max<uint64_t>(granularity, kHostPage.count));
}

// "gfx90a:sramecc+:xnack-".
Result<std::string> architecture_of(const gpu::Context& context) {
  const Driver& driver = driver_of(context);
  const PropertiesLayout& layout = driver.properties_layout;
  // Room for what a later runtime may write behind what is known.
  std::vector<char> properties(layout.size + 4096);
  MNEME_TRY(context.check(driver.properties(properties.data(), context.device()), "{}({})", layout.function, context.device()));
  const char* name = properties.data() + layout.architecture;
  std::string architecture(name, strnlen(name, kNameSize));
  if (architecture.starts_with("gfx")) return architecture;
  return error(Code::unsupported,
               "{}({}): '{}' is no architecture of AMD's: HIP programs of this runtime are for another platform", layout.function,
               context.device(), architecture);
}

#define MNEME_HIP_ATTRIBUTE(name) {static_cast<int>(Attribute::name), #name}
constexpr gpu::DeviceAttributes kAttributes = {
    .warp_size = MNEME_HIP_ATTRIBUTE(warp_size),
    .multiprocessors = MNEME_HIP_ATTRIBUTE(multiprocessors),
    .max_threads_per_block = MNEME_HIP_ATTRIBUTE(max_threads_per_block),
    .max_block_x = MNEME_HIP_ATTRIBUTE(max_block_x),
    .max_block_y = MNEME_HIP_ATTRIBUTE(max_block_y),
    .max_block_z = MNEME_HIP_ATTRIBUTE(max_block_z),
    .max_grid_x = MNEME_HIP_ATTRIBUTE(max_grid_x),
    .max_grid_y = MNEME_HIP_ATTRIBUTE(max_grid_y),
    .max_grid_z = MNEME_HIP_ATTRIBUTE(max_grid_z),
    .max_shared_memory_per_block = MNEME_HIP_ATTRIBUTE(shared_memory_per_block),
    .l2_cache = MNEME_HIP_ATTRIBUTE(l2_cache),
    .max_threads_per_multiprocessor = MNEME_HIP_ATTRIBUTE(max_threads_per_multiprocessor),
};
#undef MNEME_HIP_ATTRIBUTE

Result<DeviceProperties> properties_of(const gpu::Context& context) {
  const Driver& driver = driver_of(context);
  DeviceProperties properties;
  properties.kind = DeviceKind::hip;
  MNEME_ASSIGN(properties.architecture, architecture_of(context));
  std::array<char, kNameSize> name{};
  MNEME_TRY(context.check(driver.hipDeviceGetName(name.data(), static_cast<int>(name.size() - 1), context.device()),
                          "hipDeviceGetName({})", context.device()));
  // Some runtimes have no name for a GPU.
  properties.name = name[0] != '\0' ? name.data() : "AMD GPU";
  size_t memory = 0;
  MNEME_TRY(context.check(driver.hipDeviceTotalMem(&memory, context.device()), "hipDeviceTotalMem({})", context.device()));
  properties.total_memory = Bytes(memory);
  std::array<char, 32> address{};
  MNEME_TRY(context.check(driver.hipDeviceGetPCIBusId(address.data(), static_cast<int>(address.size() - 1), context.device()),
                          "hipDeviceGetPCIBusId({})", context.device()));
  properties.hardware_id = address.data();

  MNEME_TRY(gpu::read_attributes(
      kAttributes,
      [&](const gpu::Attribute& attribute) {
        return attribute_of(context, static_cast<Attribute>(attribute.number), attribute.name);
      },
      properties));
  MNEME_ASSIGN(properties.allocation_granularity, granularity_of(context));
  properties.reservation_granularity = properties.allocation_granularity;
  return properties;
}

}  // namespace

Result<int> count_devices(std::span<const std::string> libraries) {
  MNEME_ASSIGN(const Driver* driver, open_driver(libraries));
  return gpu::count_devices(HipApi(*driver));
}

Result<int> count_devices() {
  MNEME_TRY(find_driver());
  return count_devices(runtime_libraries());
}

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  MNEME_TRY(find_driver());
  return open_device(ordinal, runtime_libraries());
}

Result<std::unique_ptr<Device>> open_device(int ordinal, std::span<const std::string> libraries) {
  MNEME_ASSIGN(const Driver* driver, open_driver(libraries));
  MNEME_ASSIGN(std::unique_ptr<gpu::Context> context, gpu::Context::open(std::make_unique<HipApi>(*driver), ordinal));
  MNEME_ASSIGN(DeviceProperties properties, properties_of(*context));
  return std::unique_ptr<Device>(new HipDevice(std::move(context), properties));
}

}  // namespace mneme::hip
