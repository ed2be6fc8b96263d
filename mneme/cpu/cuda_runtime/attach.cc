// The interposer: puts the emulated CUDA runtime into a program's call table.
#include "mneme/runtime/attach.h"

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/emulation.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

// What the recorder asks for the globals of a kernel.
int find_global(const void* host_function, const char* name, uint64_t* address, uint64_t* size) {
  Context& context = Context::get();
  auto kernel = context.registry().find_kernel(host_function);
  if (!kernel) return 1;
  Result<std::shared_ptr<LoadedImage>> image = context.images().find(*kernel->image);
  if (!image.ok()) return 1;
  Result<MemoryRange> global = (*image)->global(name);
  if (!global.ok()) return 1;
  *address = global->address.address;
  *size = global->size.count;
  return 0;
}

}  // namespace

Status attach(mneme_call_table& program) {
  MNEME_ASSIGN(mneme_call_table * cuda, accept_cuda_slots(program, CudaSlots::implemented));
  mneme_call_table& table = *cuda;
  Slots slots(table);
  fill_errors(slots);
  fill_registration(slots, table.index);
  fill_symbols(slots);
  fill_launch(slots);
  fill_functions(slots);
  fill_libraries(slots);
  fill_memory(slots);
  fill_managed(slots);
  fill_pools(slots);
  fill_copies(slots);
  fill_arrays(slots);
  fill_array_copies(slots);
  fill_textures(slots);
  fill_streams(slots);
  fill_capture(slots);
  fill_events(slots);
  fill_device(slots);
  fill_graphs(slots);
  fill_graph_nodes(slots);
  table.device = MNEME_TABLE_CPU;
  table.find_global = &find_global;
  return {};
}

}  // namespace mneme::emulation
