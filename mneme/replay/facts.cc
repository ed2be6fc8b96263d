#include "mneme/replay/facts.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "mneme/base/suggestion.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLargestAlignment = 4096;

std::string label(const std::vector<Parameter>& parameters, unsigned index) {
  return parameters[index].name.empty() ? std::to_string(index) : parameters[index].name;
}

std::optional<unsigned> find_parameter(const std::vector<Parameter>& parameters, const std::string& text) {
  for (unsigned i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == text) return i;
  unsigned index = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (failure != std::errc() || end != text.data() + text.size() || index >= parameters.size()) return std::nullopt;
  return index;
}

Status unknown_parameter(const KernelRecord& kernel, const std::string& text) {
  std::vector<std::string> names;
  std::string all;
  for (unsigned i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (!parameter.name.empty()) names.push_back(parameter.name);
    all += fmt::format("\n  {}  {}{}", i, parameter.type, parameter.name.empty() ? "" : " " + parameter.name);
  }
  return error(Code::invalid_argument, "specialise.arguments: {} has no parameter '{}'{}{}", kernel.demangled, text,
               did_you_mean(text, names), all.empty() ? "; it has none" : "; it has" + all);
}

Result<std::set<unsigned>> chosen_parameters(const KernelRecord& kernel, const std::vector<std::string>& texts) {
  std::set<unsigned> chosen;
  for (const std::string& text : texts) {
    if (text == "*") {
      for (unsigned i = 0; i < kernel.parameters.size(); ++i) chosen.insert(i);
      continue;
    }
    std::optional<unsigned> index = find_parameter(kernel.parameters, text);
    if (!index) return unknown_parameter(kernel, text);
    chosen.insert(*index);
  }
  return chosen;
}

Status check_parameters(const LaunchFacts& launch) {
  for (const Parameter& parameter : launch.kernel.parameters)
    if (parameter.offset > launch.instance.parameters.size() ||
        parameter.size > launch.instance.parameters.size() - parameter.offset)
      return error(Code::corrupt, "{}: its parameter at {} has {} bytes, and {} bytes of parameters were recorded",
                   launch.kernel.demangled, parameter.offset, parameter.size, launch.instance.parameters.size());
  return {};
}

// The pointer in the recorded parameters at `offset`; null where there is none.
uint64_t recorded_pointer(const LaunchFacts& launch, uint64_t offset) {
  uint64_t value = 0;
  if (offset + sizeof value <= launch.instance.parameters.size())
    std::memcpy(&value, launch.instance.parameters.data() + offset, sizeof value);
  return value;
}

uint64_t alignment_of(uint64_t pointer) {
  return pointer == 0 ? 1 : std::min(uint64_t{1} << std::countr_zero(pointer), kLargestAlignment);
}

const Region* region_of(const LaunchFacts& launch, const PointerRoot& root) {
  if (root.kind == PointerRoot::Kind::variable) {
    for (const PlannedRegion& region : launch.plan.regions)
      if (region.prologue.kind == Region::Kind::global && region.prologue.name == root.variable) return &region.prologue;
    return nullptr;
  }
  if (root.parameter >= launch.kernel.parameters.size()) return nullptr;
  const uint64_t offset = launch.kernel.parameters[root.parameter].offset + root.offset;
  return region_at(launch.plan, DevicePtr(recorded_pointer(launch, offset)));
}

std::string describe(const LaunchFacts& launch, const PointerRoot& root) {
  if (root.kind == PointerRoot::Kind::variable) return "the variable " + root.variable;
  std::string name = label(launch.kernel.parameters, root.parameter);
  return root.kind == PointerRoot::Kind::member ? fmt::format("a pointer in {} (at byte {})", name, root.offset) : name;
}

// Why no-alias of a parameter is not proven; empty when it is.
std::string doubt(const LaunchFacts& launch, const PointerUse& use, unsigned parameter) {
  if (!use.other.empty()) return "the kernel also reaches memory through " + use.other;
  auto own = std::find_if(use.roots.begin(), use.roots.end(), [&](const PointerRoot& root) {
    return root.kind == PointerRoot::Kind::parameter && root.parameter == parameter;
  });
  if (own == use.roots.end()) return "the kernel accesses no memory through it";
  const Region* region = region_of(launch, *own);
  if (!region) return "it points to no recorded memory";
  // It may be mapped at more than one address.
  if (region->kind == Region::Kind::host) return "it points to host memory";
  const PointerRoot* sharer = nullptr;
  bool written = false;
  for (const PointerRoot& root : use.roots) {
    if (region_of(launch, root) != region) continue;
    written |= root.written;
    if (&root != &*own) sharer = &root;
  }
  if (!written) return "";
  if (sharer) return fmt::format("{} points into the same memory, which the kernel writes to", describe(launch, *sharer));
  return use.synchronises ? "the kernel writes through it, and its threads wait for each other" : "";
}

void find_pointer_facts(const SpecialiseOptions& options, const LaunchFacts& launch, const Result<PointerUse>& use,
                        const std::set<unsigned>& constants, SpecialisedLaunch& result) {
  for (unsigned i = 0; i < launch.kernel.parameters.size(); ++i) {
    const Parameter& parameter = launch.kernel.parameters[i];
    if (parameter.kind != Parameter::Kind::pointer) continue;
    PointerFacts facts{.parameter = i};
    // A constant's alignment is to be seen in it.
    if (options.alignment && !constants.contains(i)) facts.alignment = alignment_of(recorded_pointer(launch, parameter.offset));
    if (options.no_alias) {
      std::string reason = constants.contains(i) ? "it is a constant"
                           : use.ok()            ? doubt(launch, *use, i)
                                                 : use.status().message();
      facts.no_alias = reason.empty();
      if (!reason.empty()) result.may_alias.push_back({i, std::move(reason)});
    }
    if (facts.alignment > 1 || facts.no_alias) result.values.pointers.push_back(facts);
  }
}

}  // namespace

const Region* region_at(const MemoryPlan& plan, DevicePtr pointer) {
  const Region* before = nullptr;
  for (const PlannedRegion& planned : plan.regions) {
    const Region& region = planned.prologue;
    if (region.range().contains(pointer)) return &region;
    if (pointer == region.range().end()) before = &region;
  }
  return before;
}

Result<SpecialisedLaunch> resolve_facts(const SpecialiseOptions& options, const LaunchFacts& launch,
                                        const Result<PointerUse>& use) {
  SpecialisedLaunch result;
  for (unsigned i = 0; i < launch.kernel.parameters.size(); ++i) result.parameters.push_back(label(launch.kernel.parameters, i));
  if (options.empty()) return result;
  MNEME_TRY(check_parameters(launch));
  result.values.kernel = launch.kernel.name;
  MNEME_ASSIGN(std::set<unsigned> chosen, chosen_parameters(launch.kernel, options.arguments));
  for (unsigned index : chosen) {
    const Parameter& parameter = launch.kernel.parameters[index];
    auto first = launch.instance.parameters.begin() + static_cast<ptrdiff_t>(parameter.offset);
    result.values.arguments.push_back({index, ByteVector(first, first + static_cast<ptrdiff_t>(parameter.size))});
  }
  const LaunchDimensions shape{launch.shape.grid, launch.shape.block};
  if (options.dimensions) result.values.dimensions = shape;
  if (options.ranges) result.values.ranges = shape;
  if (options.alignment || options.no_alias) find_pointer_facts(options, launch, use, chosen, result);
  result.values.bounds = options.bounds;
  if (options.bounds.max_threads && shape.block.volume() > *options.bounds.max_threads)
    return error(Code::invalid_argument, "specialise.max_threads is {}, and a block of the launch has {} threads",
                 *options.bounds.max_threads, shape.block.volume());
  return result;
}

SpecialisationReport report_of(const SpecialisedLaunch& launch) {
  const Specialisation& values = launch.values;
  SpecialisationReport report;
  for (const ArgumentValue& argument : values.arguments) report.arguments.push_back(launch.parameters[argument.parameter]);
  report.dimensions = values.dimensions;
  report.ranges = values.ranges;
  for (const PointerFacts& facts : values.pointers) {
    if (facts.alignment > 1) report.alignment[launch.parameters[facts.parameter]] = facts.alignment;
    if (facts.no_alias) report.no_alias.push_back(launch.parameters[facts.parameter]);
  }
  for (const UnprovenParameter& parameter : launch.may_alias)
    report.may_alias[launch.parameters[parameter.parameter]] = parameter.reason;
  report.bounds = values.bounds;
  return report;
}

}  // namespace mneme
