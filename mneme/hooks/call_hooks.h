// Hook and HookList: how a function that an interposer puts into a call table knows through which table it was called.
//
// A slot is a plain function pointer without context, and each linked object has its own real functions. A slot therefore gets
// a small function of its table alone (there are MNEME_MAX_TABLES of them), which calls the one handler with the table as its
// first argument:
//
//   class Table : public CallTable { public: static Table& attached(uint32_t index); … };
//   cudaError_t on_malloc(Table& table, void** out, size_t size) { … MNEME_NEXT(table, cudaMalloc)(out, size) … }
//   using Hooks = HookList<Hook<MNEME_CALL_cudaMalloc, on_malloc>>;
//   Hooks::install(table);
#pragma once

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "mneme/abi/call_table.h"

namespace mneme {

// One table that an interposer stands before.
class CallTable {
 public:
  // Remembers what the slots hold before the interposer replaces them: the functions of the vendor, or of an interposer before
  // it.
  void attach(mneme_call_table& abi) {
    abi_ = &abi;
    next_.assign(abi.slots, abi.slots + abi.call_count);
  }
  mneme_call_table& abi() const { return *abi_; }
  mneme_function next(mneme_call slot) const { return next_[slot]; }

 private:
  mneme_call_table* abi_ = nullptr;
  std::vector<mneme_function> next_;
};

#define MNEME_NEXT(table, name) (reinterpret_cast<decltype(&::name)>((table).next(MNEME_CALL_##name)))

// kSlot: of enum mneme_call, or for HIP's tables of enum mneme_hip_call.
template <auto kSlot, auto kHandler>
struct Hook;

template <auto kSlot, typename R, typename Table, typename... A, R (*kHandler)(Table&, A...)>
struct Hook<kSlot, kHandler> {
  template <uint32_t kTable>
  static R call(A... arguments) {
    // A handler that were inlined would be compiled once for each table.
    [[clang::noinline]] return kHandler(Table::attached(kTable), arguments...);
  }
  // The function that the slot of the table of that index gets.
  static auto call_of(uint32_t index) { return call_of(index, std::make_integer_sequence<uint32_t, MNEME_MAX_TABLES>()); }
  static void install(uint32_t index) {
    Table::attached(index).abi().slots[kSlot] = reinterpret_cast<mneme_function>(call_of(index));
  }

 private:
  template <uint32_t... kTables>
  static auto call_of(uint32_t index, std::integer_sequence<uint32_t, kTables...>) {
    static constexpr R (*kCalls[])(A...) = {&call<kTables>...};
    return kCalls[index];
  }
};

template <typename... H>
struct HookList {
  static void install(const auto& table) { install(table.abi().index); }
  static void install(uint32_t index) { (H::install(index), ...); }
};

}  // namespace mneme
