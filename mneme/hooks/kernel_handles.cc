#include "mneme/hooks/kernel_handles.h"

#include <shared_mutex>
#include <unordered_map>

namespace mneme {
namespace {

struct Handles {
  std::shared_mutex mutex;
  std::unordered_map<const void*, const void*> functions;
};
Handles& handles() {
  static auto* all = new Handles;
  return *all;
}

}  // namespace

const void* host_function_of(const void* function) {
  std::shared_lock lock(handles().mutex);
  auto found = handles().functions.find(function);
  return found == handles().functions.end() ? function : found->second;
}

void remember_handle(const void* handle, const void* function) {
  std::unique_lock lock(handles().mutex);
  handles().functions[handle] = function;
}

bool is_harmless(cudaLaunchAttributeID id) {
  switch (id) {
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredSharedMemoryCarveout: return true;
    default: return false;
  }
}

bool stream_is_capturing(const CallTable& table, cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return false;  // these cannot
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return MNEME_NEXT(table, cudaStreamIsCapturing)(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

}  // namespace mneme
