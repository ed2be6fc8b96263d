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

// A function of the library, which stands beside the one that this code is in.
Result<void*> find_in_hip_library(const char* symbol) {
  Dl_info self;
  const std::string own =
      ::dladdr(reinterpret_cast<void*>(&find_in_hip_library), &self) != 0 && self.dli_fname ? self.dli_fname : "";
  const std::string path = own.substr(0, own.find_last_of('/') + 1) + kHipLibrary;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library ? ::dlsym(library, symbol) : nullptr;
  if (!function) return error(Code::unavailable, "loading {}: {}", path, ::dlerror());
  return function;
}

}  // namespace

Result<mneme_call_table*> accept_cuda_slots(mneme_call_table& table, CudaSlots slots) {
  if (table.device != MNEME_TABLE_HIP) {
    MNEME_TRY(accept_table(table));
    return &table;
  }
  MNEME_TRY(accept_table(table, hip_runtime_calls()));
  MNEME_ASSIGN(void* const function, find_in_hip_library(kCudaTableSymbol));
  return reinterpret_cast<CudaTableFunction>(function)(&table, static_cast<int>(slots));
}

Result<std::string> hip_architecture(const mneme_call_table& cuda, int ordinal) {
  MNEME_ASSIGN(void* const function, find_in_hip_library(kHipArchitectureSymbol));
  std::string architecture = reinterpret_cast<HipArchitectureFunction>(function)(cuda.index, ordinal);
  if (architecture.empty())
    return error(Code::unavailable, "the HIP runtime does not tell the architecture of device {}", ordinal);
  return architecture;
}

}  // namespace mneme
