// The table of backends: a kind of device joins here by one row.
#include "mneme/cpu/run/cpu_device.h"
#include "mneme/device/backend.h"
#include "mneme/device/cuda/cuda_device.h"
#include "mneme/device/cuda/shown_devices.h"
#include "mneme/device/fake/fake_device.h"
#ifdef MNEME_HIP
#include "mneme/device/hip/hip_device.h"
#endif

namespace mneme {
namespace {

Status needs_nothing() { return {}; }
Result<int> one_device() { return 1; }

constexpr Backend kBackends[] = {
    {.kind = DeviceKind::cuda,
     .name = "cuda",
     .title = "CUDA device",
     .missing = "no NVIDIA driver",
     .audience = Audience::users,
     .hardware = Hardware::own,
     .launch_return = LaunchReturn::when_queued,
     .runtime = "CUDA",
     .interposer = "",
     .driver = cuda::kDriverLibrary,
     .driver_version_file = "/proc/driver/nvidia/version",
     .find = [] { return cuda::open_driver().status(); },
     .is_shown = [] { return cuda::shows_a_device(); },
     .count = [] { return cuda::count_devices(); },
     .open = cuda::open_device,
     .order_blocks = nullptr,
     .raise_limits = cuda::raise_limits},
#ifdef MNEME_HIP
    {.kind = DeviceKind::hip,
     .name = "hip",
     .title = "HIP device",
     .missing = "no AMD driver",
     .audience = Audience::users,
     .hardware = Hardware::own,
     .launch_return = LaunchReturn::when_queued,
     .runtime = "HIP",
     .interposer = "",
     .driver_version_file = "/sys/module/amdgpu/version",
     .find = [] { return hip::find_driver(); },
     .count = [] { return hip::count_devices(); },
     .open = hip::open_device,
     .order_blocks = nullptr},
#endif
    {.kind = DeviceKind::cpu,
     .name = "cpu",
     .title = "CPU device",
     .missing = "",
     .audience = Audience::users,
     .hardware = Hardware::host,
     .launch_return = LaunchReturn::when_done,
     .interposer = "libmneme_emulation.so",
     .find = needs_nothing,
     .count = one_device,
     .open = cpu::open_device,
     .order_blocks = cpu::order_blocks},
    {.kind = DeviceKind::fake,
     .name = "fake",
     .title = "fake device",
     .missing = "",
     .audience = Audience::tests,
     .hardware = Hardware::own,  // tests give it what hardware they want
     .launch_return = LaunchReturn::when_done,
     .interposer = "",
     .find = needs_nothing,
     .count = one_device,
     .open = fake::open_device,
     .order_blocks = nullptr},
};

}  // namespace

std::span<const Backend> backends() { return kBackends; }

}  // namespace mneme
