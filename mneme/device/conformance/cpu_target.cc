// The suite on the CPU device, with an image lowered from the kernels' device IR.
#include "mneme/device/conformance/conformance.h"
#include "mneme/device/conformance/embedded_image.h"

namespace mneme::conformance {
namespace {

CodeImage image() { return {DeviceKind::cpu, ByteVector(embedded_image().begin(), embedded_image().end())}; }

}  // namespace

const Target& target() {
  static const Target cpu = {DeviceKind::cpu, [] { return Device::open(DeviceKind::cpu); }, image, 0x7000, "", true};
  return cpu;
}

}  // namespace mneme::conformance
