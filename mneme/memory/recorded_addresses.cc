#include "mneme/memory/recorded_addresses.h"

#include <algorithm>

namespace mneme {
namespace {

uint64_t round_down(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Result<RecordedAddresses> RecordedAddresses::reserve(const InstanceRecord& instance, const MemoryPlan& plan, Device& device) {
  RecordedAddresses addresses;
  MNEME_TRY(addresses.reserve_space(instance, plan, device));
  MNEME_TRY(addresses.reserve_bound_globals(plan, device));
  MNEME_TRY(addresses.map_host_memory(plan, device));
  return addresses;
}

Status RecordedAddresses::reserve_space(const InstanceRecord& instance, const MemoryPlan& plan, Device& device) {
  bool any = std::any_of(plan.regions.begin(), plan.regions.end(),
                         [](const PlannedRegion& r) { return r.prologue.kind == Region::Kind::allocation; });
  if (!any) return {};
  auto space = device.reserve(instance.space_base, instance.space_size);
  if (!space.ok()) return space.status().with_context("reserving the recorded addresses");
  space_ = std::move(*space);
  for (const PlannedRegion& region : plan.regions) {
    if (region.prologue.kind != Region::Kind::allocation) continue;
    Status status = space_->allocate_at(region.prologue.address, region.prologue.size);
    if (!status.ok()) return status.with_context("allocating the recorded memory");
  }
  return {};
}

Status RecordedAddresses::reserve_bound_globals(const MemoryPlan& plan, Device& device) {
  std::vector<const Region*> bound;
  for (const PlannedRegion& region : plan.regions)
    if (region.prologue.kind == Region::Kind::global && region.placement == Placement::recorded_address)
      bound.push_back(&region.prologue);
  const uint64_t unit = device.properties().reservation_granularity.count;
  for (size_t i = 0; i < bound.size();) {
    uint64_t first = bound[i]->address.address, end = first + bound[i]->size.count;
    size_t next = i + 1;
    for (; next < bound.size() && bound[next]->address.address < round_up(end, unit); ++next)
      end = std::max(end, bound[next]->address.address + bound[next]->size.count);
    DevicePtr base(round_down(first, unit));
    auto space = device.reserve(base, Bytes(round_up(end, unit) - base.address));
    if (!space.ok())
      return space.status().with_context(
          fmt::format("reserving the recorded address {} of the global '{}'", bound[i]->address, bound[i]->name));
    DevicePtr aligned(round_down(first, AddressSpace::kAlignment.count));
    MNEME_TRY((*space)->allocate_at(aligned, Bytes(end - aligned.address)));
    global_spaces_.push_back(std::move(*space));
    i = next;
  }
  return {};
}

Status RecordedAddresses::map_host_memory(const MemoryPlan& plan, Device& device) {
  for (const MappedSpan& span : plan.spans) {
    if (plan.regions[span.regions.front()].prologue.kind != Region::Kind::host) continue;
    auto mapping = device.map_host(span.address, span.size);
    if (!mapping.ok()) {
      Status status = mapping.status().with_context("mapping the recorded host memory");
      // Memory that the program allocated by the CUDA runtime lies where nothing else does.
      if (status.code() != Code::unavailable || span.address >= kHostMemoryBase) return status;
      return error(
          Code::unavailable,
          "{}; the program had registered memory of its own there (cudaHostRegister): try again, since the system places "
          "libraries elsewhere each time",
          status.message());
    }
    host_mappings_.push_back(std::move(*mapping));
  }
  return {};
}

}  // namespace mneme
