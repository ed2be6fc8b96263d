#include "mneme/runtime/attach.h"

#include <mutex>

#include "mneme/runtime/recordable.h"

namespace mneme {

Status accept_table(mneme_call_table& table, const RuntimeCalls& calls) {
  if (table.device != MNEME_TABLE_CPU && table.device != static_cast<uint32_t>(calls.device))
    return error(Code::unsupported, "{} does not call the {} runtime, which is the one that this interposer stands before",
                 table.object, calls.name);
  MNEME_TRY(check_note({table.abi_version, table.call_count, table.calls_digest}, table.object, calls));
  static std::mutex mutex;
  static uint32_t next = 0;
  std::lock_guard lock(mutex);
  if (table.index != MNEME_TABLE_UNNUMBERED) return {};
  if (next == MNEME_MAX_TABLES)
    return error(Code::exhausted, "{} is one recordable object too many in this process: at most {} are possible", table.object,
                 MNEME_MAX_TABLES);
  table.index = next++;
  return {};
}

}  // namespace mneme
