// Table: the call table of a HIP program, and the table with CUDA's slots in which its calls end.
//
// The interposers (emulation, record, tuned) stand before the second one, and know nothing of HIP. A slot of the program's table
// has a handler that calls the slot of CUDA's function of the same meaning (rows.h); where there is none, one that says so.
#pragma once

#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/hip/headers.h"
#include "mneme/hooks/call_hooks.h"

namespace mneme::hip {

class Table final {
 public:
  // The table of that index, below MNEME_MAX_TABLES.
  static Table& attached(uint32_t index);

  // The program's table, whose slots are filled.
  mneme_call_table& abi() const { return *program_; }
  // The function of the program's own HIP runtime; null where it has none of that name.
  mneme_function real(mneme_hip_call call) const { return program_->real[call]; }
  // The slot of CUDA's table, as the interposers have left it.
  mneme_function cuda(mneme_call call) const { return slots_[call]; }

  // Makes CUDA's table, at the first call, and fills the program's.
  mneme_call_table& attach(mneme_call_table& program);
  // CUDA's table; null before attach().
  mneme_call_table* attached_cuda() { return program_ ? &cuda_ : nullptr; }

 private:
  mneme_call_table* program_ = nullptr;
  mneme_call_table cuda_{};
  mneme_function slots_[MNEME_CALL_COUNT] = {};
  mneme_function real_[MNEME_CALL_COUNT] = {};
};

// MNEME_CUDA(table, cudaMalloc)(&pointer, size)
#define MNEME_CUDA(table, name) (reinterpret_cast<decltype(&::name)>((table).cuda(MNEME_CALL_##name)))

// Each fills the slots of one family of functions.
void install_missing(const Table& table);  // all: they return hipErrorNotSupported, and say so once by name
// The names of those that nothing else was installed for.
std::vector<std::string_view> missing_functions(const Table& table);
void install_errors(const Table& table);
void install_registration(const Table& table);
void install_launches(const Table& table);
void install_functions(const Table& table);
void install_modules(const Table& table);
void install_memory(const Table& table);
void install_copies(const Table& table);
void install_arrays(const Table& table);
void install_textures(const Table& table);
void install_streams(const Table& table);
void install_device(const Table& table);
void install_contexts(const Table& table);
void install_graphs(const Table& table);

}  // namespace mneme::hip
