// How memory goes that is not the recorder's.
#pragma once

#include "mneme/record/process.h"
#include "mneme/record/recorder.h"

namespace mneme {

// Forgets what is known of memory that starts at the address, and has the vendor free it by `original`, whose result is returned:
// not under a capture that reads the memory.
template <typename Original>
auto free_outside(DevicePtr memory, Original original) {
  recorder()->forget_foreign(memory.address);
  OutsideMemory& outside = recorder()->outside_memory();
  if (!outside.is_allocation(memory)) return original();
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  if (const auto removed = outside.remove_allocation(memory)) recorder()->forget_annotations(*removed);
  return original();
}

}  // namespace mneme
