#include "mneme/hip/packed_arguments.h"

#include <cstddef>
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

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

// Fills pointers to each argument of a kernel in a packed buffer.
hipError_t find_arguments(Table& table, const void* function, std::byte* buffer, size_t bytes, std::vector<void*>& arguments) {
  size_t offset = 0, size = 0;
  cudaError_t code = cudaSuccess;
  while ((code = MNEME_CUDA(table, cudaFuncGetParamInfo)(function, arguments.size(), &offset, &size)) == cudaSuccess) {
    if (offset > bytes || size > bytes - offset) return hipErrorInvalidValue;
    arguments.push_back(buffer + offset);
  }
  if (!table.ends_in_runtime()) return (void)MNEME_CUDA(table, cudaGetLastError)(), hipSuccess;
  // A kernel that is known has no argument behind its last one; it may have none at all, and a buffer all the same.
  return code == cudaErrorInvalidValue || bytes == 0 ? hipSuccess : refuse_buffer();
}

}  // namespace

hipError_t list_arguments(Table& table, const void* function, void** extra, std::vector<void*>& arguments) {
  std::byte* buffer = nullptr;
  size_t bytes = 0;
  if (hipError_t result = read_extra(extra, buffer, bytes); result != hipSuccess) return result;
  arguments.clear();
  return find_arguments(table, function, buffer, bytes, arguments);
}

}  // namespace mneme::hip
