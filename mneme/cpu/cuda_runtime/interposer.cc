// What libmneme_emulation.so exports.
#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/emulation.h"

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  mneme::Status status = mneme::emulation::attach(*table);
  if (status.ok()) return 0;
  mneme::log::error("{}; it runs without the CPU device", status.message());
  return 1;
}
