// The suite's memory tests on an AMD GPU. The suite's kernels are CUDA's; the image is one of Mneme's own kernels, so that a code
// object is loaded all the same.
#include "mneme/device/conformance/conformance.h"
#include "mneme/device/hip/code_objects.h"

namespace mneme::conformance {
namespace {

CodeImage image() {
  const auto device = Device::open(DeviceKind::hip);
  if (!device.ok()) return {DeviceKind::hip, {}};
  auto object = hip::kernel_code_object(gpu::KernelSource::memory, (*device)->properties().architecture);
  return {DeviceKind::hip, object.ok() ? std::move(*object) : ByteVector()};
}

}  // namespace

const Target& target() {
  static const Target hip = {DeviceKind::hip, [] { return Device::open(DeviceKind::hip); }, image, 0x7000};
  return hip;
}

}  // namespace mneme::conformance
