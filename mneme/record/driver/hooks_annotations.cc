// Annotations of a program that was built for recording, and is recorded at the driver.
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

// Memory lies where the driver's functions have said. What the runtime alone knows, the address of the host's stand-in for a
// variable, lies in no memory that is recorded, and is refused with that reason.
void on_annotate(mneme_call_table*, const void* pointer, uint64_t count, const mneme_annotation* annotation) {
  if (!pointer || !annotation) return;
  if (recorder()) return recorder()->annotate(front(), pointer, count, *annotation);
  static std::once_flag once;
  std::call_once(once, [] { log::warning("an annotation is ignored: the program has not called the CUDA driver yet"); });
}

}  // namespace

void take_annotations(mneme_call_table& table) { table.annotate = &on_annotate; }

}  // namespace mneme::driver
