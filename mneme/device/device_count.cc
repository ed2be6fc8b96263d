#include "mneme/device/device_count.h"

#include "mneme/device/cuda/cuda_device.h"

namespace mneme {

Result<int> count_devices(DeviceKind kind) {
  if (kind == DeviceKind::cuda) return cuda::count_devices();
  if (kind == DeviceKind::hip) return error(Code::unavailable, "counting hip devices: this build has no HIP backend");
  return 1;
}

}  // namespace mneme
