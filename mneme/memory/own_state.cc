#include "mneme/memory/own_state.h"

namespace mneme {

Result<OwnState> OwnState::keep(Device& device, Stream& stream, Module& module, const std::vector<std::string>& names) {
  OwnState state;
  for (const std::string& name : names) {
    auto place = module.global(name);
    // An assembler leaves out what no code uses.
    if (!place.ok() && place.status().code() == Code::not_found) continue;
    if (!place.ok()) return place.status().with_context(fmt::format("looking up the compiled code's own variable '{}'", name));
    if (place->size == Bytes()) continue;
    auto begin = DeviceBuffer::allocate(device, place->size);
    if (!begin.ok())
      return begin.status().with_context(fmt::format("keeping what the compiled code's own variable '{}' begins with", name));
    MNEME_TRY(stream.copy(begin->address(), place->address, place->size));
    state.variables_.push_back({*place, std::move(*begin)});
  }
  return state;
}

Status OwnState::put_back(Stream& stream) const {
  for (const auto& [place, begin] : variables_) MNEME_TRY(stream.copy(place.address, begin.address(), place.size));
  return {};
}

}  // namespace mneme
