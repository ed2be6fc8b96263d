// The suite on the CPU device, with an image lowered from the kernels' device IR.
#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

constexpr unsigned char kImage[] = {
#embed "conformance_kernels.cpu.so"
};

CodeImage image() {
  const auto bytes = std::as_bytes(std::span(kImage));
  return {DeviceKind::cpu, ByteVector(bytes.begin(), bytes.end())};
}

}  // namespace

const Target& target() {
  static const Target cpu = {DeviceKind::cpu, [] { return Device::open(DeviceKind::cpu); }, image, 0x7000};
  return cpu;
}

}  // namespace mneme::conformance
