// Memory of a HIP program that comes from elsewhere than the functions of CUDA's table: of other processes, of graphics, mapped
// by the program itself, or of a kind that CUDA has not. The interposers are told of it as of CUDA's external memory, so that
// none takes it for what it knows.
#pragma once

#include "mneme/hip/rows.h"

namespace mneme::hip {

// Calls CUDA's slot of external memory, whose end makes the program's own call (AsMade): that one leaves the address in *pointer,
// where it does not stand there already.
inline hipError_t give_external(Table& table, void** pointer, size_t size) {
  cudaExternalMemoryBufferDesc description{};
  description.size = size;
  return to_hip(MNEME_CUDA(table, cudaExternalMemoryGetMappedBuffer)(pointer, nullptr, &description));
}

}  // namespace mneme::hip
