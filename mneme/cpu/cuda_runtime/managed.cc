// Managed memory: advice, prefetching, and what can be asked about both. Kernels and the host reach all memory here, at any time.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

MemoryAdvice& advice() { return Context::get().memory().advice(); }

MemoryRange range_of(const void* pointer, size_t count) { return {DevicePtr(reinterpret_cast<uint64_t>(pointer)), Bytes(count)}; }

// Advice is taken for managed memory, and for memory that CUDA did not allocate: kernels reach the host's pages too.
bool takes_advice(const void* pointer, size_t count) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (address == 0 || count == 0 || count > ~address) return false;
  const auto found = Context::get().memory().find_allocation(pointer);
  if (!found) return true;
  return found->use.kind == MemoryKind::managed && found->range.contains(range_of(pointer, count));
}

cudaError_t check_location(const cudaMemLocation& location) {
  switch (location.type) {
    case cudaMemLocationTypeDevice: return location.id == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent: return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t check_stream(cudaStream_t stream) { return find_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; }

cudaError_t advise(const void* pointer, size_t count, cudaMemoryAdvise what, cudaMemLocation location) {
  if (!takes_advice(pointer, count)) return cudaErrorInvalidValue;
  const bool has_place =
      what == cudaMemAdviseSetPreferredLocation || what == cudaMemAdviseSetAccessedBy || what == cudaMemAdviseUnsetAccessedBy;
  if (cudaError_t result = check_location(location); has_place && result != cudaSuccess) return result;
  const bool by_device = location.type == cudaMemLocationTypeDevice;
  if (what < cudaMemAdviseSetReadMostly || what > cudaMemAdviseUnsetAccessedBy) return cudaErrorInvalidValue;
  advice().change(range_of(pointer, count), [&](Advice& piece) {
    bool& accessed = by_device ? piece.accessed_by_device : piece.accessed_by_host;
    switch (what) {
      case cudaMemAdviseSetReadMostly: piece.read_mostly = true; break;
      case cudaMemAdviseUnsetReadMostly: piece.read_mostly = false; break;
      case cudaMemAdviseSetPreferredLocation: piece.preferred = location; break;
      case cudaMemAdviseUnsetPreferredLocation: piece.preferred = {}; break;
      case cudaMemAdviseSetAccessedBy: accessed = true; break;
      case cudaMemAdviseUnsetAccessedBy: accessed = false; break;
    }
  });
  return cudaSuccess;
}

cudaError_t prefetch(const void* pointer, size_t count, cudaMemLocation location, unsigned flags, cudaStream_t stream) {
  if (!takes_advice(pointer, count) || flags != 0) return cudaErrorInvalidValue;
  if (cudaError_t result = check_location(location); result != cudaSuccess) return result;
  if (cudaError_t result = check_stream(stream); result != cudaSuccess) return result;
  advice().change(range_of(pointer, count), [&](Advice& piece) { piece.prefetched = location; });
  return cudaSuccess;
}

cudaError_t check_batch(void* const* pointers, const size_t* sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
  if (!pointers || !sizes || count == 0 || flags != 0) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (!takes_advice(pointers[i], sizes[i])) return cudaErrorInvalidValue;
  return check_stream(stream);
}

// Location k is for the pieces from number first[k] on, up to that of the next location.
cudaError_t prefetch_batch(void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations, size_t* first,
                           size_t location_count, unsigned long long flags, cudaStream_t stream) {
  if (cudaError_t result = check_batch(pointers, sizes, count, flags, stream); result != cudaSuccess) return result;
  if (!locations || !first || location_count == 0 || location_count > count || first[0] != 0) return cudaErrorInvalidValue;
  for (size_t k = 0; k < location_count; ++k) {
    if (first[k] >= count || (k > 0 && first[k] <= first[k - 1])) return cudaErrorInvalidValue;
    if (cudaError_t result = check_location(locations[k]); result != cudaSuccess) return result;
  }
  for (size_t i = 0, k = 0; i < count; ++i) {
    if (k + 1 < location_count && first[k + 1] == i) ++k;
    advice().change(range_of(pointers[i], sizes[i]), [&](Advice& piece) { piece.prefetched = locations[k]; });
  }
  return cudaSuccess;
}

// What is in discarded memory is undefined, so that it may as well stay.
cudaError_t discard_batch(void** pointers, size_t* sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
  return check_batch(pointers, sizes, count, flags, stream);
}

cudaError_t attach(cudaStream_t stream, void* pointer, size_t length, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle) return cudaErrorInvalidValue;
  if (!takes_advice(pointer, std::max<size_t>(length, 1))) return cudaErrorInvalidValue;
  if (flags == cudaMemAttachSingle && !stream) return cudaErrorInvalidValue;
  return check_stream(stream);
}

// --- what can be asked --------------------------------------------------------------------------------------------------------

bool same(const cudaMemLocation& a, const cudaMemLocation& b) { return a.type == b.type && a.id == b.id; }

// The location that all pieces have; one of type cudaMemLocationTypeInvalid where they have several, or none.
cudaMemLocation common(const std::vector<Advice>& pieces, cudaMemLocation Advice::* which) {
  const cudaMemLocation first = pieces.front().*which;
  const bool all = std::all_of(pieces.begin(), pieces.end(), [&](const Advice& piece) { return same(piece.*which, first); });
  return all ? first : cudaMemLocation{};
}

int as_device(const cudaMemLocation& location) {
  if (location.type == cudaMemLocationTypeInvalid) return cudaInvalidDeviceId;
  return location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId;
}

// The devices by which all pieces are accessed, and behind them cudaInvalidDeviceId.
void list_accessors(const std::vector<Advice>& pieces, int* out, size_t room) {
  const auto everywhere = [&](bool Advice::* which) {
    return std::all_of(pieces.begin(), pieces.end(), [&](const Advice& piece) { return piece.*which; });
  };
  size_t count = 0;
  if (everywhere(&Advice::accessed_by_device)) out[count++] = 0;
  if (count < room && everywhere(&Advice::accessed_by_host)) out[count++] = cudaCpuDeviceId;
  std::fill(out + count, out + room, cudaInvalidDeviceId);
}

cudaError_t get_attribute(void* data, size_t size, cudaMemRangeAttribute attribute, const void* pointer, size_t count) {
  if (!data || !takes_advice(pointer, count)) return cudaErrorInvalidValue;
  const bool is_list = attribute == cudaMemRangeAttributeAccessedBy;
  if (size == 0 || (is_list ? size % sizeof(int) != 0 : size != sizeof(int))) return cudaErrorInvalidValue;
  const std::vector<Advice> pieces = advice().in(range_of(pointer, count));
  int* out = static_cast<int*>(data);
  switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
      *out = std::all_of(pieces.begin(), pieces.end(), [](const Advice& piece) { return piece.read_mostly; });
      break;
    case cudaMemRangeAttributeAccessedBy: list_accessors(pieces, out, size / sizeof(int)); break;
    case cudaMemRangeAttributePreferredLocation: *out = as_device(common(pieces, &Advice::preferred)); break;
    case cudaMemRangeAttributePreferredLocationType: *out = common(pieces, &Advice::preferred).type; break;
    case cudaMemRangeAttributePreferredLocationId: *out = common(pieces, &Advice::preferred).id; break;
    case cudaMemRangeAttributeLastPrefetchLocation: *out = as_device(common(pieces, &Advice::prefetched)); break;
    case cudaMemRangeAttributeLastPrefetchLocationType: *out = common(pieces, &Advice::prefetched).type; break;
    case cudaMemRangeAttributeLastPrefetchLocationId: *out = common(pieces, &Advice::prefetched).id; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t get_attributes(void** data, size_t* sizes, cudaMemRangeAttribute* attributes, size_t attribute_count,
                           const void* pointer, size_t count) {
  if (!data || !sizes || !attributes || attribute_count == 0) return cudaErrorInvalidValue;
  for (size_t i = 0; i < attribute_count; ++i)
    if (cudaError_t result = get_attribute(data[i], sizes[i], attributes[i], pointer, count); result != cudaSuccess)
      return result;
  return cudaSuccess;
}

}  // namespace

void fill_managed(Slots& slots) {
  MNEME_EMULATE(cudaMemAdvise, advise);
  MNEME_EMULATE_PTSZ(cudaMemPrefetchAsync, prefetch);
  MNEME_EMULATE_PTSZ(cudaMemPrefetchBatchAsync, prefetch_batch);
  MNEME_EMULATE_PTSZ(cudaMemDiscardBatchAsync, discard_batch);
  MNEME_EMULATE_PTSZ(cudaMemDiscardAndPrefetchBatchAsync, prefetch_batch);
  MNEME_EMULATE_PTSZ(cudaStreamAttachMemAsync, attach);
  MNEME_EMULATE(cudaMemRangeGetAttribute, get_attribute);
  MNEME_EMULATE(cudaMemRangeGetAttributes, get_attributes);
}

}  // namespace mneme::emulation
