#include "mneme/record/driver/launches.h"

#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

ByteSpan packed_arguments(void** extra) {
  const void* buffer = nullptr;
  size_t size = 0;
  for (void** entry = extra; entry && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = entry[1];
    if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(entry[1]);
  }
  return buffer ? ByteSpan(static_cast<const std::byte*>(buffer), size) : ByteSpan();
}

}  // namespace

Launch launch_of(const void* function, Dim3 grid, Dim3 block, unsigned shared, void** parameters, void** extra) {
  return Launch{.vendor = front(),
                .function = function,
                .grid = grid,
                .block = block,
                .shared = Bytes(shared),
                .arguments = parameters,
                .packed = packed_arguments(extra)};
}

void take_attribute(const CUlaunchAttribute& attribute, Launch& what) noexcept {
  const auto keep = [&](std::string_view name, auto value) {
    if (!what.attributes.set(name, static_cast<int64_t>(value))) what.refusal = NotRecorded::launch_attribute;
  };
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE: break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: what.cooperative = attribute.value.cooperative != 0; break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      what.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
      break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      keep("access_policy_window", attribute.value.accessPolicyWindow.num_bytes);
      break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: keep("synchronization_policy", attribute.value.syncPolicy); break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      keep("cluster_scheduling_policy_preference", attribute.value.clusterSchedulingPolicyPreference);
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      keep("programmatic_stream_serialization", attribute.value.programmaticStreamSerializationAllowed);
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: keep("programmatic_event", 1); break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: keep("launch_completion_event", 1); break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: keep("priority", attribute.value.priority); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: keep("mem_sync_domain_map", 1); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: keep("mem_sync_domain", attribute.value.memSyncDomain); break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      keep("preferred_shared_memory_carveout", attribute.value.sharedMemCarveout);
      break;
    default: what.refusal = NotRecorded::launch_attribute;
  }
}

}  // namespace mneme::driver
