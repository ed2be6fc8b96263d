#include "mneme/device/gpu/launch_clock.h"

#include <cstdlib>

namespace mneme::gpu {

Result<std::string> clock_wish(const char* library) {
  const char* text = std::getenv("MNEME_CLOCK");
  const std::string wish = text != nullptr ? text : "";
  if (!wish.empty() && wish != library && wish != "event")
    return error(Code::invalid_argument, "choosing the clock of kernels: MNEME_CLOCK is '{}', not {} or event", wish, library);
  return wish;
}

}  // namespace mneme::gpu
