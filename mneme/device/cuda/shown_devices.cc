#include "mneme/device/cuda/shown_devices.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace mneme::cuda {
namespace {

bool is_usable(const Path& file) { return ::access(file.c_str(), R_OK | W_OK) == 0; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Files of GPUs that this user may open: nvidia0, nvidia1 and so on.
size_t count_files(const Path& devices) {
  constexpr std::string_view kPrefix = "nvidia";
  size_t count = 0;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(devices, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) continue;
    if (std::all_of(name.begin() + kPrefix.size(), name.end(), is_digit) && is_usable(entry.path())) ++count;
  }
  return count;
}

// Whether the first of a list "2,0" is one of so many; anything else, such as the name of a part of a GPU, is not known here.
bool begins_with_one_of(size_t count, std::string_view visible) {
  size_t first = 0;
  const auto [end, failure] = std::from_chars(visible.data(), visible.data() + visible.size(), first);
  return failure == std::errc() && first < count && (end == visible.data() + visible.size() || *end == ',');
}

}  // namespace

Surroundings Surroundings::of_this_process() {
  return {.visible_devices = std::getenv("CUDA_VISIBLE_DEVICES"), .batch_job = std::getenv("SLURM_JOB_ID")};
}

bool shows_a_device(const Surroundings& surroundings) {
  if (surroundings.batch_job && !surroundings.visible_devices) return false;
  if (!is_usable(surroundings.devices / "nvidiactl") || !is_usable(surroundings.devices / "nvidia-uvm")) return false;
  const size_t count = count_files(surroundings.devices);
  return count > 0 && (!surroundings.visible_devices || begins_with_one_of(count, surroundings.visible_devices));
}

}  // namespace mneme::cuda
