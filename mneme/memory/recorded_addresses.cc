#include "mneme/memory/recorded_addresses.h"

#include <algorithm>

namespace mneme {
namespace {

uint64_t round_down(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Whether it lies at its recorded address, on the device, and not in the recorder's range.
bool lies_outside(const PlannedRegion& region) {
  return region.placement == Placement::recorded_address && !region.prologue.in_recorders_range() &&
         region.prologue.kind != Region::Kind::host;
}

Status no_room(const Status& reason, const Region& region) {
  const std::string name = region.name.empty() ? "" : " '" + region.name + "'";
  Status status = reason.with_context(
      fmt::format("reserving the recorded address {} of {} of {}{}", region.address, region.size, to_string(region.kind), name));
  if (status.code() != Code::unavailable) return status;
  return error(Code::unavailable, "{}: try again, since the system places what a process has elsewhere each time",
               status.message());
}

}  // namespace

Result<RecordedAddresses> RecordedAddresses::reserve(const InstanceRecord& instance, const MemoryPlan& plan, Device& device) {
  RecordedAddresses addresses;
  MNEME_TRY(addresses.reserve_space(instance, plan, device));
  MNEME_TRY(addresses.reserve_outside(plan, device));
  MNEME_TRY(addresses.map_host_memory(plan, device));
  return addresses;
}

Status RecordedAddresses::reserve_space(const InstanceRecord& instance, const MemoryPlan& plan, Device& device) {
  bool any = std::any_of(plan.regions.begin(), plan.regions.end(),
                         [](const PlannedRegion& r) { return r.prologue.in_recorders_range(); });
  if (!any) return {};
  auto space = device.reserve(instance.space_base, instance.space_size);
  if (!space.ok()) return space.status().with_context("reserving the recorded addresses");
  space_ = std::move(*space);
  for (const PlannedRegion& region : plan.regions) {
    if (!region.prologue.in_recorders_range()) continue;
    Status status = space_->allocate_at(region.prologue.address, region.prologue.size);
    if (!status.ok()) return status.with_context("allocating the recorded memory");
  }
  return {};
}

// A device takes an address for whole blocks alone (reservation_granularity). Neighbouring blocks are one reservation.
Status RecordedAddresses::reserve_outside(const MemoryPlan& plan, Device& device) {
  std::vector<const Region*> regions;
  for (const PlannedRegion& region : plan.regions)
    if (lies_outside(region)) regions.push_back(&region.prologue);
  const uint64_t unit = device.properties().reservation_granularity.count;
  for (size_t i = 0; i < regions.size();) {
    const uint64_t base = round_down(regions[i]->address.address, unit);
    uint64_t end = round_up(regions[i]->range().end().address, unit);
    size_t next = i + 1;
    for (; next < regions.size() && round_down(regions[next]->address.address, unit) <= end; ++next)
      end = std::max(end, round_up(regions[next]->range().end().address, unit));
    auto space = device.reserve(DevicePtr(base), Bytes(end - base));
    if (!space.ok()) return no_room(space.status(), *regions[i]);
    for (; i < next; ++i) {
      Status status = (*space)->allocate_at(regions[i]->address, regions[i]->size);
      if (!status.ok()) return status.with_context("allocating the recorded memory");
    }
    outside_.push_back(std::move(*space));
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
