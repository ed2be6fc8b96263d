// The vendors' runtimes whose calls go through tables: a row for each.
#pragma once

#include <cstdint>
#include <string_view>

#include "mneme/abi/call_table.h"

namespace mneme {

struct RuntimeCalls {
  std::string_view name;                         // "CUDA"
  std::string_view link_options;                 // how the command gives those with which programs are linked
  uint32_t note_type = 0;                        // of the objects' notes
  mneme_table_device device = MNEME_TABLE_CUDA;  // of their tables, before the emulation
  uint32_t call_count = 0;                       // 0: this Mneme was built without it
  uint64_t calls_digest = 0;
};

const RuntimeCalls& cuda_runtime_calls();
const RuntimeCalls& hip_runtime_calls();

// The row whose notes are of this type; null: nobody's.
const RuntimeCalls* runtime_calls_of_note(uint32_t note_type);

}  // namespace mneme
