#include "mneme/device/fake/fake_device.h"

#include "mneme/device/fake/fake_module.h"
#include "mneme/device/fake/fake_stream.h"
#include "mneme/device/host_shared_memory.h"

namespace mneme::fake {

DeviceProperties FakeDevice::default_properties() {
  DeviceProperties properties;
  properties.kind = DeviceKind::fake;
  properties.name = "fake device";
  properties.architecture = "fake";
  properties.max_shared_memory_per_block = 48_KiB;
  properties.total_memory = 1_GiB;
  properties.allocation_granularity = kHostGranularity;
  properties.reservation_granularity = kHostGranularity;
  return properties;
}

FakeDevice::FakeDevice(DeviceProperties properties) { properties_ = std::move(properties); }
FakeDevice::~FakeDevice() = default;

void FakeDevice::define_kernel(const std::string& name, FakeKernel kernel) {
  std::lock_guard lock(mutex_);
  kernels_[name] = std::move(kernel);
}

Result<MemoryRange> FakeDevice::define_global(const std::string& name, Bytes size) {
  MNEME_ASSIGN(DevicePtr address, memory_.allocate(size));
  std::lock_guard lock(mutex_);
  return globals_[name] = MemoryRange{address, size};
}

void FakeDevice::set_failures(FailureScript script) {
  std::lock_guard lock(mutex_);
  failures_ = std::move(script);
}

std::vector<std::string> FakeDevice::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

Status FakeDevice::begin(std::string_view call) {
  FailureScript script;
  {
    std::lock_guard lock(mutex_);
    calls_.emplace_back(call);
    if (!fault_.ok()) return fault_.with_context("the device faulted before and is of no further use");
    script = failures_;
  }
  return script ? script(call) : Status();
}

void FakeDevice::poison(const Status& fault) {
  std::lock_guard lock(mutex_);
  if (fault_.ok()) fault_ = fault;
}

Result<std::unique_ptr<Module>> FakeDevice::load(const CodeImage& image) {
  MNEME_TRY(begin("load"));
  if (image.device != properties_.kind) {
    return error(Code::incompatible, "loading an image made for the device {} on the device {}", to_string(image.device),
                 to_string(properties_.kind));
  }
  return std::unique_ptr<Module>(std::make_unique<FakeModule>(*this, image.bytes));
}

Result<std::unique_ptr<Stream>> FakeDevice::create_stream() {
  MNEME_TRY(begin("create_stream"));
  return std::unique_ptr<Stream>(std::make_unique<FakeStream>(*this));
}

Result<std::unique_ptr<AddressSpace>> FakeDevice::reserve(DevicePtr base, Bytes size) {
  MNEME_TRY(begin("reserve"));
  return reserve_host_range(base, size);
}

Result<std::unique_ptr<HostMapping>> FakeDevice::map_host(DevicePtr address, Bytes size) {
  MNEME_TRY(begin("map_host"));
  return map_host_range(address, size);
}

Result<std::unique_ptr<PinnedMemory>> FakeDevice::allocate_pinned_impl(Bytes size) {
  MNEME_TRY(begin("allocate_pinned"));
  return allocate_pinned_host_memory(size);
}

Result<DevicePtr> FakeDevice::allocate(Bytes size) {
  MNEME_TRY(begin("allocate"));
  return memory_.allocate(size);
}

Status FakeDevice::free(DevicePtr pointer) {
  MNEME_TRY(begin("free"));
  return memory_.free(pointer);
}

Result<std::unique_ptr<SharedMemory>> FakeDevice::allocate_shared(Bytes size) {
  MNEME_TRY(begin("allocate_shared"));
  return allocate_shared_host_memory(size);
}

Result<std::unique_ptr<SharedMemory>> FakeDevice::import_shared(const Descriptor& descriptor, Bytes size) {
  MNEME_TRY(begin("import_shared"));
  return import_shared_host_memory(descriptor, size);
}

Result<DeviceClock> FakeDevice::clock() {
  MNEME_TRY(begin("clock"));
  return DeviceClock{"script", "", Nanoseconds(1)};
}

void FakeDevice::set_clock_readings(std::vector<ClockReading> readings) {
  std::lock_guard lock(mutex_);
  clock_readings_ = std::move(readings);
}

std::optional<ClockReading> FakeDevice::read_clocks() {
  std::lock_guard lock(mutex_);
  if (clock_readings_.empty()) return std::nullopt;
  ClockReading reading = clock_readings_.front();
  if (clock_readings_.size() > 1) clock_readings_.erase(clock_readings_.begin());
  return reading;
}

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  if (ordinal != 0) return error(Code::unavailable, "opening fake device {}: there is only device 0", ordinal);
  return std::unique_ptr<Device>(std::make_unique<FakeDevice>());
}

}  // namespace mneme::fake
