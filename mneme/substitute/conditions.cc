#include "mneme/substitute/conditions.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mneme {
namespace {

uint64_t pointer_at(const ProgramLaunch& launch, const ArgumentPlace& place) {
  uint64_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(launch.arguments[place.parameter]) + place.offset, sizeof value);
  return value;
}

// A pointer just behind an allocation counts as one into it, unless it begins another.
bool leads_into(const MemoryRange& range, DevicePtr pointer, CodeLoader& loader) {
  return range.contains(pointer) || (pointer == range.end() && !loader.allocation_of(pointer));
}

bool is_alone(const PointerAlone& pointer, const ProgramLaunch& launch, CodeLoader& loader) {
  const auto own = loader.allocation_of(DevicePtr(pointer_at(launch, {pointer.parameter, 0})));
  return own && std::none_of(pointer.others.begin(), pointer.others.end(), [&](const ArgumentPlace& other) {
           return leads_into(*own, DevicePtr(pointer_at(launch, other)), loader);
         });
}

}  // namespace

std::string_view describe(KeptBy reason) {
  static constexpr std::array<std::string_view, static_cast<size_t>(KeptBy::count)> kWords{
      "no code for the device",
      "launch attributes",
      "another launch shape",
      "other arguments",
      "pointers that are aligned less",
      "memory that may be reached in two ways",
      "captured before the code was loaded",
      "after a failure",
      "run both ways",
      "while another launch was run both ways",
      "of a kernel that cannot be run twice",
      "with memory that is not known, so that it cannot be copied",
      "without room for copies of the memory",
      "captured before the code was compared",
      "whose own code leaves memory otherwise each time",
      "after a difference",
      "slower with the deployed code"};
  return kWords.at(static_cast<size_t>(reason));
}

std::optional<KeptBy> find_doubt(const TunedKernel& code, const ProgramLaunch& launch, CodeLoader& loader,
                                 ProgramShape& becomes) {
  const auto shape = code.rule.apply(launch.shape);
  if (!shape) return KeptBy::shape;
  becomes = *shape;
  return find_doubt_in_arguments(code, launch, loader);
}

std::optional<KeptBy> find_doubt_in_arguments(const TunedKernel& code, const ProgramLaunch& launch, CodeLoader& loader) {
  const bool looks_at_arguments = !code.arguments.empty() || !code.aligned.empty() || !code.alone.empty();
  if (looks_at_arguments && !launch.arguments) return KeptBy::arguments;
  for (const ArgumentIs& argument : code.arguments)
    if (std::memcmp(launch.arguments[argument.parameter], argument.bytes.data(), argument.bytes.size()) != 0)
      return KeptBy::arguments;
  for (const PointerAligned& pointer : code.aligned)
    if (pointer_at(launch, {pointer.parameter, 0}) % pointer.alignment != 0) return KeptBy::alignment;
  for (const PointerAlone& pointer : code.alone)
    if (!is_alone(pointer, launch, loader)) return KeptBy::memory;
  return std::nullopt;
}

Status check_parameters(const TunedKernel& code, const std::vector<uint64_t>& sizes) {
  const auto has = [&](const ArgumentPlace& place, uint64_t bytes) {
    return place.parameter < sizes.size() && place.offset <= sizes[place.parameter] &&
           bytes <= sizes[place.parameter] - place.offset;
  };
  constexpr uint64_t kPointer = sizeof(uint64_t);
  bool fits = true;
  for (const ArgumentIs& one : code.arguments) fits = fits && has({one.parameter, 0}, one.bytes.size());
  for (const PointerAligned& one : code.aligned) fits = fits && has({one.parameter, 0}, kPointer);
  for (const PointerAlone& one : code.alone) {
    fits = fits && has({one.parameter, 0}, kPointer);
    for (const ArgumentPlace& other : one.others) fits = fits && has(other, kPointer);
  }
  if (fits) return {};
  return error(Code::invalid_argument, "its conditions are about parameters that the program's kernel does not have");
}

}  // namespace mneme
