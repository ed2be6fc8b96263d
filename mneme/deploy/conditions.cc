#include "mneme/deploy/conditions.h"

#include <algorithm>
#include <cstring>

#include "mneme/replay/facts.h"

namespace mneme {
namespace {

ProgramShape program_shape(const LaunchShape& shape) {
  return {shape.grid, shape.block, shape.dynamic_shared_memory, shape.cooperative, shape.cluster};
}

bool changes(const ExtentOverride& extent) { return extent != ExtentOverride(); }

// What no compiler promises to keep.
bool changes_meaning(const Configuration& configuration) {
  const CodegenOptions usual, &asked = configuration.codegen;
  return configuration.ir != IrFile() || !configuration.pass_plugins.empty() || asked.fast_math != usual.fast_math ||
         asked.ftz != usual.ftz || asked.contraction != usual.contraction;
}

LaunchRule::Covers covers(const Configuration& configuration, BlockUse blocks) {
  const SpecialiseOptions& known = configuration.specialise;
  if (changes(configuration.grid) || configuration.shared_memory || known.dimensions || known.ranges ||
      changes_meaning(configuration))
    return LaunchRule::Covers::shape;
  if (!changes(configuration.block)) return LaunchRule::Covers::any;
  return configuration.keep_threads && blocks == BlockUse::none ? LaunchRule::Covers::block : LaunchRule::Covers::shape;
}

// Calls that leave memory as it is, but for code that ends the program.
bool changes_memory_alone(const std::string& function) {
  return function.starts_with("llvm.") || function.starts_with("__nv_") || function.starts_with("__ocml_") ||
         function == "__nvvm_reflect" || function == "__atomic_work_item_fence" || function.starts_with("__assert");
}

// By which AMD's device libraries, which a kernel has with it, print and allocate.
bool asks_the_host(const std::string& function) {
  return function.starts_with("__ockl_hostcall") || function.starts_with("__ockl_dm_");
}

bool names(ByteSpan image, std::string_view function) {
  const std::string_view bytes(reinterpret_cast<const char*>(image.data()), image.size());
  return bytes.find(function) != bytes.npos;
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

// What is left at the end is no whole element.
uint64_t bytes_of(const ToleratedRange& range, const Region& region) {
  const uint64_t left = region.size.count - range.offset;
  return left - range.size.count < size_of(range.tolerance.type).count ? 0 : range.size.count;
}

std::optional<TunedTolerance> in_variable(const ToleratedRange& range, const Region& region,
                                          const std::vector<std::string>& variables) {
  const auto known = std::find(variables.begin(), variables.end(), region.name);
  if (region.kind != Region::Kind::global || known == variables.end()) return std::nullopt;
  return TunedTolerance{
      {}, range.offset, bytes_of(range, region), range.tolerance, static_cast<uint32_t>(known - variables.begin())};
}

}  // namespace

LaunchRule rule_of(const Configuration& configuration, const InstanceRecord& instance, const LaunchShape& shape,
                   BlockUse blocks) {
  return {covers(configuration, blocks), program_shape(recorded_shape(instance)), program_shape(shape),
          configuration.specialise.bounds.max_threads.value_or(0)};
}

std::vector<TunedTolerance> tolerances_of(const std::vector<ToleratedRange>& tolerated, const KernelRecord& kernel,
                                          const InstanceRecord& instance, const MemoryPlan& plan,
                                          const std::vector<std::string>& variables) {
  std::vector<TunedTolerance> all, of_variables;
  for (const ToleratedRange& range : tolerated) {
    const Region& region = plan.regions[range.region].prologue;
    if (const auto own = in_variable(range, region, variables)) {
      of_variables.push_back(*own);
      continue;
    }
    const uint64_t begin = region.address.address + range.offset;
    std::optional<TunedTolerance> nearest;
    for (const ArgumentPlace& place : pointer_places(kernel)) {
      const uint64_t pointer = word_at(instance, kernel.parameters[place.parameter], place.offset);
      if (!region.range().contains(DevicePtr(pointer)) || pointer > begin || (nearest && nearest->offset <= begin - pointer))
        continue;
      nearest = TunedTolerance{place, begin - pointer, bytes_of(range, region), range.tolerance, {}};
    }
    if (nearest) all.push_back(*nearest);
  }
  all.insert(all.end(), of_variables.begin(), of_variables.end());
  return all;
}

Repeatable repeatable(const ir::Module* code, ByteSpan image, const TextureSet& textures) {
  for (size_t i = 0; i < textures.arrays.size(); ++i)
    if (textures.writes(i)) return Repeatable::no;
  if (!code) {
    for (const char* function : {"vprintf", "malloc", "cudaLaunch", "cudaGraphLaunch", "cudaGetParameterBuffer"})
      if (names(image, function)) return Repeatable::no;
    return Repeatable::yes;
  }
  for (const ir::FunctionInfo& function : code->functions())
    if (asks_the_host(function.name) || (function.is_declaration && !changes_memory_alone(function.name))) return Repeatable::no;
  return Repeatable::yes;
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

bool asks_no_more(const TunedKernel& one, const TunedKernel& other) {
  const auto is_aligned_so = [&](const PointerAligned& pointer) {
    return std::ranges::any_of(other.aligned, [&](const PointerAligned& known) {
      return known.parameter == pointer.parameter && known.alignment >= pointer.alignment;
    });
  };
  const auto is_alone_so = [&](const PointerAlone& pointer) {
    return std::ranges::any_of(other.alone, [&](const PointerAlone& known) {
      return known.parameter == pointer.parameter && std::ranges::all_of(pointer.others, [&](const ArgumentPlace& place) {
               return std::ranges::find(known.others, place) != known.others.end();
             });
    });
  };
  return std::ranges::all_of(one.aligned, is_aligned_so) && std::ranges::all_of(one.alone, is_alone_so);
}

}  // namespace mneme
