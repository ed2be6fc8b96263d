// What libmneme_hip.so exports (mneme/runtime/attach.h).
#include "mneme/runtime/attach.h"

#include "mneme/hip/table.h"

extern "C" __attribute__((visibility("default"))) mneme_call_table* mneme_cuda_table(mneme_call_table* program, int make) {
  mneme::hip::Table& table = mneme::hip::Table::attached(program->index);
  return make ? &table.attach(*program) : table.attached_cuda();
}
