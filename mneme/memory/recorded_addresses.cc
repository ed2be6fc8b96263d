#include "mneme/memory/recorded_addresses.h"

#include <algorithm>

#include "mneme/base/texture_descriptors.h"
#include "mneme/device/reservation_granularity.h"

namespace mneme {
namespace {

// Whether it lies at its recorded address, on the device, and not in the recorder's range.
bool lies_outside(const PlannedRegion& region) {
  return region.placement == Placement::recorded_address && !region.prologue.in_recorders_range() &&
         region.prologue.kind != Region::Kind::host;
}

// Registered memory is the program's own; what it allocated by the CUDA runtime lies where nothing else does.
bool is_registered(const Region& region) { return region.kind == Region::Kind::host && region.address < kHostMemoryBase; }

Status no_room(const Status& reason, const Region& region) {
  const std::string name = region.name.empty() ? "" : " '" + region.name + "'";
  Status status = reason.with_context(
      fmt::format("reserving the recorded address {} of {} of {}{}", region.address, region.size, to_string(region.kind), name));
  if (status.code() != Code::unavailable) return status;
  return error(Code::unavailable, "{}: try again, since the system places what a process has elsewhere each time",
               status.message());
}

}  // namespace

std::vector<MemoryRange> endangered_addresses(const MemoryPlan& plan) {
  std::vector<MemoryRange> ranges;
  const auto add = [&](const MemoryRange& range, Bytes unit) {
    const DevicePtr begin(round_down(range.address.address, unit.count)), end(round_up(range.end().address, unit.count));
    if (begin >= end) return;  // wraps around
    if (!ranges.empty() && begin >= ranges.back().address && begin <= ranges.back().end())
      ranges.back().size = std::max(ranges.back().end(), end) - ranges.back().address;
    else
      ranges.push_back({begin, end - begin});
  };
  for (const PlannedRegion& region : plan.regions)
    if (lies_outside(region) || is_registered(region.prologue))
      add(region.prologue.range(), is_registered(region.prologue) ? kHostPage : kLargestReservationGranularity);
  for (const TextureObject& object : plan.textures.objects)
    if (const auto descriptors = descriptors_of(object)) add(*descriptors, kHostPage);
  return ranges;
}

HeldAddresses hold_recorded_addresses(const Database& database, const Digest& static_hash, std::span<const Digest> instances) {
  const auto kernel = database.load_kernel(static_hash);
  if (!kernel.ok()) return {};
  std::vector<MemoryRange> ranges;
  for (const Digest& instance : instances) {
    const auto recorded = database.load_instance(static_hash, instance);
    if (!recorded.ok()) continue;
    const auto plan = plan_memory(*kernel, recorded->instance, recorded->prologue, recorded->epilogue);
    if (!plan.ok()) continue;
    const std::vector<MemoryRange> of_instance = endangered_addresses(*plan);
    ranges.insert(ranges.end(), of_instance.begin(), of_instance.end());
  }
  return HeldAddresses(std::move(ranges));
}

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
    loans_.emplace_back(MemoryRange{DevicePtr(base), Bytes(end - base)});
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

Status RecordedAddresses::check_descriptors(const TextureSet& textures) const {
  for (const TextureObject& object : textures.objects) {
    const auto place = descriptors_of(object);
    if (!place) continue;
    for (const auto& block : outside_)
      if (place->overlaps({block->base(), block->size()}))
        return error(Code::unsupported,
                     "the descriptors of a {} lay at {}, in {} at {} that this device reserves as a whole for other recorded "
                     "memory: replay the launch on the CPU device",
                     to_string(object.kind), place->address, block->size(), block->base());
  }
  return {};
}

Status RecordedAddresses::map_host_memory(const MemoryPlan& plan, Device& device) {
  for (const MappedSpan& span : plan.spans) {
    if (plan.regions[span.regions.front()].prologue.kind != Region::Kind::host) continue;
    loans_.emplace_back(span.range());
    auto mapping = device.map_host(span.address, span.size);
    if (!mapping.ok()) {
      Status status = mapping.status().with_context("mapping the recorded host memory");
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
