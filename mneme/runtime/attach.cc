#include "mneme/runtime/attach.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

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

namespace {

// The library stands beside the one that this code is in.
std::string hip_library() {
  Dl_info self;
  const std::string path = ::dladdr(reinterpret_cast<void*>(&hip_library), &self) != 0 && self.dli_fname ? self.dli_fname : "";
  return path.substr(0, path.find_last_of('/') + 1) + kHipLibrary;
}

}  // namespace

Result<mneme_call_table*> accept_cuda_slots(mneme_call_table& table, CudaSlots slots) {
  if (table.device != MNEME_TABLE_HIP) {
    MNEME_TRY(accept_table(table));
    return &table;
  }
  MNEME_TRY(accept_table(table, hip_runtime_calls()));
  const std::string path = hip_library();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library ? ::dlsym(library, kCudaTableSymbol) : nullptr;
  if (!function) return error(Code::unavailable, "loading {}: {}", path, ::dlerror());
  mneme_call_table* const cuda = reinterpret_cast<CudaTableFunction>(function)(&table, static_cast<int>(slots));
  if (cuda) return cuda;
  return error(Code::unsupported, "{} calls the HIP runtime, where deployed code is used on the CPU device alone: --device cpu",
               table.object);
}

}  // namespace mneme
