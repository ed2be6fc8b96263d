#include "mneme/deploy/conditions.h"

#include <cstring>

#include "mneme/replay/facts.h"

namespace mneme {
namespace {

ProgramShape program_shape(const LaunchShape& shape) {
  return {shape.grid, shape.block, shape.dynamic_shared_memory, shape.cooperative, shape.cluster};
}

bool changes(const ExtentOverride& extent) { return extent != ExtentOverride(); }

LaunchRule::Covers covers(const Configuration& configuration) {
  const SpecialiseOptions& known = configuration.specialise;
  if (changes(configuration.grid) || configuration.shared_memory || known.dimensions || known.ranges)
    return LaunchRule::Covers::shape;
  if (!changes(configuration.block)) return LaunchRule::Covers::any;
  return configuration.keep_threads ? LaunchRule::Covers::block : LaunchRule::Covers::shape;
}

uint64_t word_at(const InstanceRecord& instance, const Parameter& parameter, uint64_t offset) {
  uint64_t value = 0;
  if (parameter.offset + offset + sizeof value <= instance.parameters.size())
    std::memcpy(&value, instance.parameters.data() + parameter.offset + offset, sizeof value);
  return value;
}

// Where pointers can stand in the arguments: in pointers, and in each word of a structure.
std::vector<ArgumentPlace> pointer_places(const KernelRecord& kernel) {
  std::vector<ArgumentPlace> places;
  for (uint32_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (parameter.kind == Parameter::Kind::integer || parameter.kind == Parameter::Kind::floating) continue;
    for (uint64_t offset = 0; offset + sizeof(uint64_t) <= parameter.size; offset += sizeof(uint64_t))
      places.push_back({i, offset});
  }
  return places;
}

}  // namespace

LaunchRule rule_of(const Configuration& configuration, const InstanceRecord& instance, const LaunchShape& shape) {
  return {covers(configuration), program_shape(recorded_shape(instance)), program_shape(shape),
          configuration.specialise.bounds.max_threads.value_or(0)};
}

void add_conditions(const Specialisation& specialisation, const KernelRecord& kernel, const InstanceRecord& instance,
                    const MemoryPlan& plan, TunedKernel& out) {
  for (const ArgumentValue& argument : specialisation.arguments) out.arguments.push_back({argument.parameter, argument.bytes});
  const auto region_of = [&](const ArgumentPlace& place) {
    return region_at(plan, DevicePtr(word_at(instance, kernel.parameters[place.parameter], place.offset)));
  };
  for (const PointerFacts& facts : specialisation.pointers) {
    if (facts.alignment > 1) out.aligned.push_back({facts.parameter, facts.alignment});
    if (!facts.no_alias) continue;
    PointerAlone& alone = out.alone.emplace_back(PointerAlone{facts.parameter, {}});
    const Region* const own = region_of({facts.parameter, 0});
    for (const ArgumentPlace& place : pointer_places(kernel))
      if (place.parameter != facts.parameter && region_of(place) != own) alone.others.push_back(place);
  }
}

}  // namespace mneme
