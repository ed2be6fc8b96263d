#include "mneme/runtime/attach.h"

#include <mutex>

namespace mneme {

Status accept_table(mneme_call_table& table) {
  if (table.abi_version != MNEME_ABI_VERSION)
    return error(Code::incompatible, "{} was linked by a Mneme with ABI version {}, this one has {}: link it again with `mneme config ldflags`",
                 table.object, table.abi_version, MNEME_ABI_VERSION);
  if (table.call_count != MNEME_CALL_COUNT || table.calls_digest != MNEME_CUDA_CALLS_DIGEST)
    return error(Code::incompatible,
                 "{} was linked by a Mneme built for another version of the CUDA runtime ({} functions, this one has {}): link it again "
                 "with `mneme config ldflags`",
                 table.object, table.call_count, static_cast<int>(MNEME_CALL_COUNT));
  static std::mutex mutex;
  static uint32_t next = 0;
  std::lock_guard lock(mutex);
  if (table.index != MNEME_TABLE_UNNUMBERED) return {};
  if (next == MNEME_MAX_TABLES)
    return error(Code::exhausted, "{} is one recordable object too many in this process: at most {} are possible", table.object, MNEME_MAX_TABLES);
  table.index = next++;
  return {};
}

}  // namespace mneme
