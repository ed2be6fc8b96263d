// What libmneme_hip.so exports (mneme/runtime/attach.h).
#include "mneme/runtime/attach.h"

#include "mneme/hip/device.h"
#include "mneme/hip/table.h"

using namespace mneme;

extern "C" {
__attribute__((visibility("default"))) mneme_call_table* mneme_cuda_table(mneme_call_table* program, int slots) {
  const bool implemented = static_cast<CudaSlots>(slots) == CudaSlots::implemented;
  return &hip::Table::attached(program->index).attach(*program, implemented ? hip::SlotsEnd::filled : hip::SlotsEnd::runtime);
}

__attribute__((visibility("default"))) const char* mneme_hip_architecture(uint32_t table, int ordinal) {
  static thread_local std::string architecture;
  architecture = hip::architecture_of(hip::Table::attached(table), ordinal);
  return architecture.c_str();
}
}
