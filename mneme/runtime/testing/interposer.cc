// For tests: an interposer whose cudaMalloc returns 100 more than the function that was in the slot, and 1000 a table.
#include <cstdio>
#include <cstdlib>

#include "mneme/abi/annotate.h"
#include "mneme/runtime/attach.h"

namespace {

using Malloc = long (*)(void**, unsigned long);
Malloc before[MNEME_MAX_TABLES];

template <uint32_t kTable>
long replacement(void** pointer, unsigned long size) {
  return before[kTable](pointer, size) + 100 + 1000 * (kTable + 1);
}

void annotate(mneme_call_table* table, const void*, uint64_t count, const mneme_annotation* annotation) {
  if (!std::getenv("MNEME_TEST_ANNOTATE")) return;
  std::printf("annotation %u: %d elements of %d within %g, error %d, norm %d, nan %d, tag %s\n", table->index,
              static_cast<int>(count), annotation->dtype, annotation->threshold, annotation->error, annotation->norm,
              annotation->nan, annotation->tag);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  if (mneme::Status status = mneme::accept_table(*table); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  table->annotate = &annotate;
  before[table->index] = reinterpret_cast<Malloc>(table->slots[MNEME_CALL_cudaMalloc]);
  table->slots[MNEME_CALL_cudaMalloc] = reinterpret_cast<mneme_function>(table->index == 0 ? replacement<0> : replacement<1>);
  return table->slots[MNEME_CALL_cudaFree] != table->real[MNEME_CALL_cudaFree];
}
