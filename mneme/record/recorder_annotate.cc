// What the program says of its memory: which memory that is, and which of it a launch sees.
#include <algorithm>

#include "mneme/record/recorder_state.h"

namespace mneme {
namespace {

MemoryRange shadow_of(const RegisteredVariable& variable) {
  return {DevicePtr(reinterpret_cast<uint64_t>(variable.host_address)), Bytes(variable.size)};
}

}  // namespace

const Registry& Recorder::variables_of(const Vendor& vendor) const {
  const Registry* const own = vendor.host_variables();
  return own ? *own : registry_;
}

void Recorder::annotate(Vendor& vendor, const void* pointer, uint64_t count, const mneme_annotation& annotation) {
  if (!is_recording()) return;
  const DevicePtr address(reinterpret_cast<uint64_t>(pointer));
  auto refuse = [&](const Status& why) { annotations_.refuse(fmt::format("annotating {}: {}", address, why.message())); };
  auto tolerance = tolerance_of(annotation);
  if (!tolerance.ok()) return refuse(tolerance.status());
  auto keep = [&](Annotations& where, const MemoryRange& memory) {
    auto elements = elements_in(memory, address, count, *tolerance);
    if (!elements.ok()) return refuse(elements.status());
    where.set({elements->address, elements->size, annotation.tag ? annotation.tag : "", *tolerance});
  };
  if (auto memory = find_memory(address)) return keep(annotations_, *memory);
  // Variables named by the program are placed at the first launch that sees them: to ask for the place makes a context.
  if (auto symbol = variables_of(vendor).find_variable_around(pointer)) return keep(shadows_, shadow_of(symbol->variable));
  if (auto memory = find_variable(vendor, address)) return keep(annotations_, *memory);
  refuse(error(Code::invalid_argument, "no memory that is recorded lies there"));
}

std::optional<MemoryRange> Recorder::find_memory(DevicePtr address) const {
  if (auto host = host_memory_.find_around(address)) return host;
  if (auto allocation = find_allocation(address)) return allocation;
  for (const auto& opened : all_opened())
    if (auto outside = outside_memory_.find_around(address, opened->ordinal)) return outside;
  return std::nullopt;
}

// The variable whose place on the device is around an address that the program has asked for.
std::optional<MemoryRange> Recorder::find_variable(Vendor& vendor, DevicePtr address) const {
  if (state_ != State::open) return std::nullopt;
  for (const auto& image : variables_of(vendor).images()) {
    for (const RegisteredVariable& variable : image->variables()) {
      if (variable.managed) continue;
      auto place = vendor.find_variable(variable, image->table());
      if (place.ok() && place->contains(address)) return *place;
    }
  }
  return std::nullopt;
}

std::vector<Annotation> Recorder::annotations_of(Vendor& vendor, const MemoryState& state) const {
  if (shadows_.empty()) return annotations_.within(state);
  Annotations all;
  for (Annotation& annotation : annotations_.within(state)) all.set(std::move(annotation));
  for (Annotation& annotation : shadows_.all()) {
    auto symbol = variables_of(vendor).find_variable_around(reinterpret_cast<const void*>(annotation.address.address));
    if (!symbol || symbol->variable.managed) continue;
    auto place = vendor.find_variable(symbol->variable, symbol->image->table());
    if (!place.ok()) continue;
    annotation.address = place->address + (annotation.address - shadow_of(symbol->variable).address);
    all.set(std::move(annotation));
  }
  return all.within(state);
}

}  // namespace mneme
