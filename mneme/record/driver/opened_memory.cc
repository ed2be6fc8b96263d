#include "mneme/record/driver/opened_memory.h"

#include <algorithm>
#include <iterator>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/exported_memory.h"

namespace mneme::driver {
namespace {

// Maps one piece at the address.
CUresult map_piece(CUdeviceptr at, const ReceivedMemory::Mapping& piece) {
  CUmemGenericAllocationHandle handle = 0;
  // The driver takes the number in place of a pointer.
  auto* const number = reinterpret_cast<void*>(static_cast<uintptr_t>(piece.descriptor.number()));
  CUresult code = MNEME_DRIVER(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle)(
      &handle, number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (code != CUDA_SUCCESS) return code;
  code = MNEME_DRIVER(cuMemMap, cuMemMap)(at, piece.size.count, 0, handle, 0);
  MNEME_DRIVER(cuMemRelease, cuMemRelease)(handle);  // the mapping keeps the memory
  return code;
}

CUresult set_access(const MemoryRange& range, int device, CUmemAccess_flags flags) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = flags;
  return MNEME_DRIVER(cuMemSetAccess, cuMemSetAccess)(range.address.address, range.size.count, &access, 1);
}
CUresult let_reach(const MemoryRange& range) {
  const auto device = front().current_device();
  return device.ok() ? set_access(range, *device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) : CUDA_ERROR_INVALID_CONTEXT;
}

// Where memory is mapped; undone unless it is kept.
class Mapping {
 public:
  CUresult map(const ReceivedMemory& memory) {
    range_.size = memory.mapped();
    CUdeviceptr given = 0;
    CUresult code = MNEME_DRIVER(cuMemAddressReserve, cuMemAddressReserve)(&given, range_.size.count, 0, 0, 0);
    if (code != CUDA_SUCCESS) return code;
    range_.address = DevicePtr(given);
    is_reserved_ = true;
    for (const ReceivedMemory::Mapping& piece : memory.mappings) {
      code = map_piece((range_.address + mapped_).address, piece);
      if (code != CUDA_SUCCESS) return code;
      mapped_ += piece.size;
    }
    return let_reach(range_);
  }
  MemoryRange keep() {
    is_reserved_ = false;
    return range_;
  }
  explicit Mapping() = default;
  explicit Mapping(const MemoryRange& kept) : range_(kept), mapped_(kept.size), is_reserved_(true) {}
  Mapping(const Mapping&) = delete;
  ~Mapping() {
    if (is_reserved_) undo();
  }
  CUresult undo() {
    is_reserved_ = false;
    CUresult code = CUDA_SUCCESS;
    if (mapped_.count != 0) code = MNEME_DRIVER(cuMemUnmap, cuMemUnmap)(range_.address.address, mapped_.count);
    if (code != CUDA_SUCCESS) return code;
    return MNEME_DRIVER(cuMemAddressFree, cuMemAddressFree)(range_.address.address, range_.size.count);
  }

 private:
  MemoryRange range_{};
  Bytes mapped_;
  bool is_reserved_ = false;
};

}  // namespace

OpenedMemory& opened_memory() {
  static auto* const only = new OpenedMemory;
  return *only;
}

CUresult OpenedMemory::open(CUdeviceptr* out, const MemoryName& name) {
  if (exported_memory().has_made(name)) return CUDA_ERROR_INVALID_CONTEXT;
  const CUcontext context = front().current_context();
  std::lock_guard one(changing_);
  const auto known = std::find_if(opened_.begin(), opened_.end(),
                                  [&](const auto& each) { return each.second.name == name && each.second.context == context; });
  if (known != opened_.end()) {
    ++known->second.uses;
    *out = known->first;
    return CUDA_SUCCESS;
  }
  const auto memory = request_memory(name);
  if (!memory.ok()) {
    log::debug("cuIpcOpenMemHandle: {}", memory.status().message());
    return CUDA_ERROR_INVALID_VALUE;
  }
  Mapping mapping;
  if (const CUresult code = mapping.map(*memory); code != CUDA_SUCCESS) {
    log::debug("cuIpcOpenMemHandle: mapping {} of another process returned {}", memory->mapped(), static_cast<int>(code));
    return code;
  }
  Opened opened{.name = name, .context = context, .reserved = mapping.keep(), .size = memory->size};
  any_ = true;  // before the peers are asked for: who enables one now waits for what is changing
  follow_peers(opened);
  *out = (opened.reserved.address + memory->offset).address;
  std::lock_guard lock(mutex_);
  opened_[*out] = opened;
  return CUDA_SUCCESS;
}

std::optional<CUresult> OpenedMemory::close(CUdeviceptr address) {
  if (!any_) return std::nullopt;
  std::lock_guard one(changing_);
  const auto found = opened_.find(address);
  if (found == opened_.end()) return std::nullopt;
  if (--found->second.uses != 0) return CUDA_SUCCESS;
  const MemoryRange reserved = found->second.reserved;
  {
    std::lock_guard lock(mutex_);
    opened_.erase(found);
    any_ = !opened_.empty();
  }
  return Mapping(reserved).undo();
}

bool OpenedMemory::close_all(CUdeviceptr address) {
  if (!any_) return false;
  {
    std::lock_guard one(changing_);
    const auto found = opened_.find(address);
    if (found == opened_.end()) return false;
    found->second.uses = 1;
  }
  return close(address).has_value();
}

void OpenedMemory::follow_peers() {
  if (!any_) return;
  std::lock_guard one(changing_);
  for (auto& [address, memory] : opened_) follow_peers(memory);
}

// As with the driver's own memory, the program is told of nothing that fails here: a kernel of that device finds none.
void OpenedMemory::follow_peers(Opened& memory) {
  const std::set<int> now = front().readers_of(memory.context);
  const auto set = [&](int device, CUmemAccess_flags flags) {
    if (const CUresult code = set_access(memory.reserved, device, flags); code != CUDA_SUCCESS)
      log::debug("memory of another process at {}: cuMemSetAccess for device {} returned {}", memory.reserved.address, device,
                 static_cast<int>(code));
  };
  for (const int device : now)
    if (!memory.readers.contains(device)) set(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  for (const int device : memory.readers)
    if (!now.contains(device)) set(device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  memory.readers = now;
}

std::optional<MemoryRange> OpenedMemory::find(CUdeviceptr address) const {
  if (!any_) return std::nullopt;
  std::lock_guard lock(mutex_);
  const auto behind = opened_.upper_bound(address);
  if (behind == opened_.begin()) return std::nullopt;
  const auto& [begin, memory] = *std::prev(behind);
  if (address - begin >= memory.size.count) return std::nullopt;
  return MemoryRange{DevicePtr(begin), memory.size};
}

}  // namespace mneme::driver
