// The suite on an NVIDIA GPU. The image is PTX, which the driver compiles for the device that is there.
#include "mneme/device/conformance/conformance.h"
#include "mneme/device/conformance/embedded_image.h"

namespace mneme::conformance {
namespace {

CodeImage image() {
  return {DeviceKind::cuda, ByteVector(embedded_image().data(), embedded_image().data() + embedded_image().size() + 1)};
}

}  // namespace

const Target& target() {
  static const Target cuda = {DeviceKind::cuda, [] { return Device::open(DeviceKind::cuda); }, image, 0x7000};
  return cuda;
}

}  // namespace mneme::conformance
