// The suite's memory tests on the HIP backend over the runtime made for tests: what a GPU would tell is told where there is none.
#include "mneme/device/conformance/conformance.h"
#include "mneme/device/hip/hip_device.h"

namespace mneme::conformance {
namespace {

Result<std::unique_ptr<Device>> open() {
  const std::string libraries[] = {MNEME_FAKE_HIP_LIBRARY};
  return hip::open_device(0, libraries);
}

// The beginning of a code object; the runtime of the tests looks no further.
CodeImage image() {
  CodeImage image{DeviceKind::hip, ByteVector(64)};
  std::memcpy(image.bytes.data(), "\177ELF", 4);
  image.bytes[18] = std::byte{224};
  return image;
}

}  // namespace

const Target& target() {
  static const Target hip_driver = {DeviceKind::hip, open, image, 0x7000};
  return hip_driver;
}

}  // namespace mneme::conformance
