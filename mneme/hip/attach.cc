// What libmneme_hip.so exports (mneme/runtime/attach.h).
#include "mneme/runtime/attach.h"

#include "mneme/hip/table.h"

extern "C" __attribute__((visibility("default"))) mneme_call_table* mneme_cuda_table(mneme_call_table* program, int slots) {
  using namespace mneme;
  hip::Table& table = hip::Table::attached(program->index);
  switch (static_cast<CudaSlots>(slots)) {
    case CudaSlots::implemented: return &table.attach(*program, hip::SlotsEnd::filled);
    case CudaSlots::stood_before: return &table.attach(*program, hip::SlotsEnd::runtime);
    case CudaSlots::stood_before_implemented: break;
  }
  return table.attached_cuda();
}
