#include "mneme/hip/packed_arguments.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

// Pointers to each argument of a kernel in a packed buffer. Where the kernel takes more than the buffer holds: nothing.
std::optional<std::vector<void*>> arguments_in(Table& table, const void* function, std::byte* buffer, size_t bytes) {
  std::vector<void*> arguments;
  size_t offset = 0, size = 0;
  while (MNEME_CUDA(table, cudaFuncGetParamInfo)(function, arguments.size(), &offset, &size) == cudaSuccess) {
    if (offset > bytes || size > bytes - offset) return std::nullopt;
    arguments.push_back(buffer + offset);
  }
  if (!table.ends_in_runtime()) (void)MNEME_CUDA(table, cudaGetLastError)();  // the question behind the last argument
  return arguments;
}

// The buffer that `extra` names: pairs of what it is and where, up to the end mark.
hipError_t read_extra(void** extra, std::byte*& buffer, size_t& bytes) {
  for (; extra && *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<std::byte*>(extra[1]);
    else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = *static_cast<const size_t*>(extra[1]);
    else
      return hipErrorInvalidValue;
  }
  return buffer || bytes == 0 ? hipSuccess : hipErrorInvalidValue;
}

// Of a kernel that carries nothing for recording nobody knows where its parameters lie.
hipError_t refuse_buffer() {
  static std::once_flag said;
  std::call_once(said, [] {
    log::warning(
        "a kernel that was not compiled for recording is not launched with its arguments in a buffer: the launch returns "
        "hipErrorNotSupported");
  });
  return hipErrorNotSupported;
}

}  // namespace

hipError_t list_arguments(Table& table, const void* function, void** extra, std::vector<void*>& arguments) {
  std::byte* buffer = nullptr;
  size_t bytes = 0;
  if (hipError_t result = read_extra(extra, buffer, bytes); result != hipSuccess) return result;
  auto found = arguments_in(table, function, buffer, bytes);
  if (!found) return hipErrorInvalidValue;
  if (found->empty() && bytes != 0 && table.ends_in_runtime()) return refuse_buffer();
  arguments = std::move(*found);
  return hipSuccess;
}

}  // namespace mneme::hip
