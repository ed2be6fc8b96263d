// The suite on an NVIDIA GPU. The image is PTX, which the driver compiles for the device that is there.
#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

constexpr unsigned char kImage[] = {
#embed "conformance_kernels.ptx"
    , 0};

CodeImage image() {
  const auto bytes = std::as_bytes(std::span(kImage));
  return {DeviceKind::cuda, ByteVector(bytes.begin(), bytes.end())};
}

}  // namespace

const Target& target() {
  static const Target cuda = {DeviceKind::cuda, [] { return Device::open(DeviceKind::cuda); }, image, 0x7000};
  return cuda;
}

}  // namespace mneme::conformance
