#include "mneme/device/gpu/gpu_address_space.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace mneme::gpu {
namespace {

// The address that the driver gives for a range wished for at `base`.
Result<uint64_t> reserve_near(const Context& context, uint64_t base, uint64_t size) {
  uint64_t given = 0;
  MNEME_TRY(
      context.check_call(context.api().reserve(&given, size, base), context.words().reserve, "({} at {:#x})", Bytes(size), base));
  return given;
}

}  // namespace

std::string mapping_in(DevicePtr base, Bytes size) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    uint64_t begin = 0, end = 0;
    char dash = 0;
    std::string permissions, offset, device, inode, path;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode;
    if (!fields || begin >= base.address + size.count || end <= base.address) continue;
    std::getline(fields >> std::ws, path);
    return fmt::format("{:#x}-{:#x} {}", begin, end, path.empty() ? "anonymous memory" : path);
  }
  return "";
}

Result<std::unique_ptr<AddressSpace>> GpuAddressSpace::reserve(const Context& context, DevicePtr base, Bytes size,
                                                               Bytes granularity) {
  std::string what = fmt::format("reserving {} of device addresses at {}", size, base);
  if (granularity.count == 0) {
    return error(Code::unsupported, "{}: the device has no virtual memory management", what);
  }
  if (size.count == 0 || base.address % granularity.count != 0 || size.count % granularity.count != 0) {
    return error(Code::invalid_argument, "{}: base and size must be multiples of the device's granularity, {}", what,
                 granularity);
  }
  ContextScope scope(context);
  MNEME_TRY(scope.status());

  std::string owner = mapping_in(base, size);  // before the attempt, so that it never names our own
  std::string reason;
  std::vector<uint64_t> sizes = {size.count};
  for (uint64_t wider : context.api().wider_reservations()) {
    if (wider > size.count) sizes.push_back(wider);
  }
  for (uint64_t reserved : sizes) {
    Result<uint64_t> given = reserve_near(context, base.address, reserved);
    if (!given.ok()) {
      if (given.status().code() == Code::device_fault) return given.status().with_context(what);
      if (reason.empty()) reason = given.status().message();
      continue;
    }
    if (*given == base.address)
      return std::unique_ptr<AddressSpace>(new GpuAddressSpace(context, base, size, granularity, Bytes(reserved)));
    context.api().unreserve(*given, reserved);
    reason = fmt::format("{} gave {:#x} instead", context.words().driver, *given);
  }
  return error(Code::unavailable, "{}: {}{}{}", what, reason, owner.empty() ? "" : "; in this process the range is taken by ",
               owner);
}

GpuAddressSpace::~GpuAddressSpace() {
  ContextScope scope(context_);
  if (!scope.status().ok()) return;
  while (!pieces_.empty()) {
    if (!unmap_piece(pieces_.begin()->first).ok()) return;
  }
  context_.api().unreserve(base().address, reserved_.count);
}

// The first and the last granule may come to be shared with neighbouring allocations and get a mapping of their own; what lies
// between belongs to one allocation alone and comes and goes as one.
Status GpuAddressSpace::map_impl(DevicePtr address, Bytes size) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  uint64_t granule = granule_.count;
  uint64_t begin = address.address, end = begin + size.count;
  std::vector<std::pair<uint64_t, uint64_t>> pieces = {{begin, granule}};
  if (end - begin > 2 * granule) pieces.push_back({begin + granule, end - begin - 2 * granule});
  if (end - begin > granule) pieces.push_back({end - granule, granule});

  Status status;
  size_t mapped = 0;
  for (; mapped < pieces.size() && status.ok(); ++mapped) status = map_piece(pieces[mapped].first, pieces[mapped].second);
  if (status.ok()) status = set_access(begin, size.count, context_.device());
  for (int reader : readers_)
    if (status.ok()) status = set_access(begin, size.count, reader);
  if (status.ok()) return {};
  for (auto [piece, bytes] : pieces) {
    if (pieces_.contains(piece)) (void)unmap_piece(piece);
  }
  return status;
}

Status GpuAddressSpace::set_access(uint64_t address, uint64_t size, int ordinal, MemoryAccess access) {
  return context_.check_call(context_.api().set_access(address, size, ordinal, access), context_.words().set_access,
                             "({} at {:#x}, of device {})", Bytes(size), address, ordinal);
}

Status GpuAddressSpace::share_impl(int ordinal) {
  if (ordinal == context_.device() || readers_.contains(ordinal)) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const auto& [address, piece] : pieces_) MNEME_TRY(set_access(address, piece.size, ordinal));
  readers_.insert(ordinal);
  return {};
}

Status GpuAddressSpace::keep_from_impl(int ordinal) {
  if (!readers_.contains(ordinal)) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const auto& [address, piece] : pieces_) MNEME_TRY(set_access(address, piece.size, ordinal, MemoryAccess::none));
  readers_.erase(ordinal);
  return {};
}

Status GpuAddressSpace::map_piece(uint64_t address, uint64_t size) {
  const Api& api = context_.api();
  MemoryHandle handle{};
  const auto create = [&] {
    return context_.check_call(api.create_memory(&handle, size, context_.device(), sharing_), context_.words().create_memory,
                               "({})", Bytes(size));
  };
  Status created = create();
  // Not every system lets processes share memory.
  if (sharing_ != Sharing::none && !created.ok() && created.code() != Code::exhausted) {
    sharing_ = Sharing::none;
    created = create();
  }
  MNEME_TRY(std::move(created));
  Status mapped =
      context_.check_call(api.map(address, size, handle), context_.words().map, "({} at {:#x})", Bytes(size), address);
  const bool is_kept = mapped.ok() && sharing_ == Sharing::descriptor;
  if (!is_kept) api.release(handle);  // the mapping keeps the memory
  MNEME_TRY(std::move(mapped));
  pieces_[address] = {size, is_kept ? std::optional(handle) : std::nullopt};
  return {};
}

Status GpuAddressSpace::unmap_piece(uint64_t address) {
  const auto [size, handle] = pieces_.at(address);
  MNEME_TRY(
      context_.check_call(context_.api().unmap(address, size), context_.words().unmap, "({} at {:#x})", Bytes(size), address));
  if (handle) context_.api().release(*handle);
  pieces_.erase(address);
  return {};
}

Status GpuAddressSpace::unmap_impl(DevicePtr address, Bytes size) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  uint64_t at = address.address, end = at + size.count;
  while (at < end) {
    auto piece = pieces_.find(at);
    if (piece == pieces_.end() || piece->second.size > end - at) {
      return error(Code::internal, "unmapping {} at {}: no mapping of its own at {:#x}", size, address, at);
    }
    uint64_t next = at + piece->second.size;
    MNEME_TRY(unmap_piece(at));
    at = next;
  }
  return {};
}

bool GpuAddressSpace::can_export_impl(MemoryRange allocation) const {
  for (auto piece = std::prev(pieces_.upper_bound(allocation.address.address));
       piece != pieces_.end() && piece->first < allocation.end().address; ++piece)
    if (!piece->second.handle) return false;
  return true;
}

Result<std::vector<ExportedMapping>> GpuAddressSpace::export_impl(MemoryRange allocation) {
  const std::string what = fmt::format("giving {} at {} to another process", allocation.size, allocation.address);
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  std::vector<ExportedMapping> exported;
  for (auto piece = std::prev(pieces_.upper_bound(allocation.address.address));
       piece != pieces_.end() && piece->first < allocation.end().address; ++piece) {
    const auto& [address, mapping] = *piece;
    if (!mapping.handle) return error(Code::unsupported, "{}: it was not made for that", what);
    int number = -1;
    MNEME_TRY(context_
                  .check_call(context_.api().export_memory(&number, *mapping.handle), context_.words().export_memory,
                              "(), {} at {:#x}", Bytes(mapping.size), address)
                  .with_context(what));
    exported.push_back({{DevicePtr(address), Bytes(mapping.size)}, Descriptor(number)});
    ::fcntl(number, F_SETFD, FD_CLOEXEC);  // a program that the process starts is to have none of it
  }
  return exported;
}

}  // namespace mneme::gpu
