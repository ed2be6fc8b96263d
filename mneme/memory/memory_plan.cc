#include "mneme/memory/memory_plan.h"

#include <algorithm>
#include <cstring>

#include "mneme/device/host_mapping.h"

namespace mneme {
namespace {

bool parameter_points_into(const KernelRecord& kernel, const InstanceRecord& instance, const Region& region) {
  for (const Parameter& parameter : kernel.parameters) {
    // Structs by value may hold pointers at any aligned place.
    for (uint64_t at = parameter.offset; at + sizeof(uint64_t) <= parameter.offset + parameter.size; at += sizeof(uint64_t)) {
      if (at + sizeof(uint64_t) > instance.parameters.size()) break;
      uint64_t value;
      std::memcpy(&value, instance.parameters.data() + at, sizeof value);
      if (value >= region.address.address && value - region.address.address < region.size.count) return true;
    }
  }
  return false;
}

Placement placement_of(const KernelRecord& kernel, const InstanceRecord& instance, const Region& region) {
  if (region.kind != Region::Kind::global) return Placement::recorded_address;
  // Of machine code only the loader decides where its variables lie.
  if (kernel.level != CodeLevel::ir) return Placement::module_symbol;
  auto info =
      std::find_if(kernel.globals.begin(), kernel.globals.end(), [&](const GlobalInfo& g) { return g.name == region.name; });
  bool bound = info == kernel.globals.end() || info->escapes || info->managed || parameter_points_into(kernel, instance, region);
  return bound ? Placement::recorded_address : Placement::module_symbol;
}

std::vector<PageRun> changed_runs(const Region& before, const Region& after) {
  std::vector<PageRun> runs;
  for (uint64_t i = 0; i < before.pages.size(); ++i) {
    if (before.pages[i] == after.pages[i]) continue;
    MemoryRange extent = page_extent(before.range(), i);
    uint64_t offset = (extent.address - before.address).count;
    if (!runs.empty() && runs.back().offset + runs.back().size.count == offset) {
      runs.back().size += extent.size;
    } else {
      runs.push_back({offset, extent.size});
    }
  }
  return runs;
}

}  // namespace

Result<MemoryPlan> plan_memory(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryState& prologue,
                               const MemoryState& epilogue) {
  if (prologue.regions.size() != epilogue.regions.size())
    return error(Code::corrupt, "the prologue has {} regions and the epilogue {}", prologue.regions.size(),
                 epilogue.regions.size());
  if (prologue.textures != epilogue.textures)
    return Status(Code::corrupt, "the textures are not the same in prologue and epilogue");
  MemoryPlan plan;
  plan.textures = prologue.textures;
  for (size_t i = 0; i < prologue.regions.size(); ++i) {
    const Region& before = prologue.regions[i];
    const Region& after = epilogue.regions[i];
    bool same =
        before.kind == after.kind && before.address == after.address && before.size == after.size && before.name == after.name;
    if (!same || before.pages.size() != after.pages.size() || before.pages.size() != page_count(before.range()))
      return error(Code::corrupt, "region {} at {} is not the same in prologue and epilogue", i, before.address);
    PlannedRegion region{before, after, placement_of(kernel, instance, before), 0, changed_runs(before, after)};
    if (region.placement == Placement::recorded_address) {
      region.offset = plan.copy_size.count;
      plan.copy_size = Bytes((plan.copy_size.count + before.size.count + 511) / 512 * 512);
    }
    plan.regions.push_back(std::move(region));
  }
  return plan;
}

void map_spans(MemoryPlan& plan, Bytes granularity) {
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.regions.size(); ++i)
    if (plan.regions[i].placement == Placement::recorded_address) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return plan.regions[a].prologue.address < plan.regions[b].prologue.address; });
  plan.spans.clear();
  plan.copy_size = Bytes();
  for (size_t i : order) {
    const Region& region = plan.regions[i].prologue;
    const bool on_host = region.kind == Region::Kind::host;
    const uint64_t granule = (on_host ? kHostPage : granularity).count;
    const uint64_t first = region.address.address / granule * granule;
    const uint64_t end = (region.address.address + region.size.count + granule - 1) / granule * granule;
    const bool joins = !plan.spans.empty() && plan.spans.back().range().end().address >= first &&
                       on_host == (plan.regions[plan.spans.back().regions.front()].prologue.kind == Region::Kind::host);
    if (!joins) plan.spans.push_back({DevicePtr(first), Bytes(), plan.copy_size.count, {}});
    MappedSpan& span = plan.spans.back();
    span.size = std::max(span.size, DevicePtr(end) - span.address);
    span.regions.push_back(i);
    plan.regions[i].offset = span.offset + (region.address - span.address).count;
    plan.copy_size = Bytes(span.offset + span.size.count);
  }
}

}  // namespace mneme
