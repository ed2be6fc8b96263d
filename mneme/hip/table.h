// Table: the call table of a HIP program, and the table with CUDA's slots in which its calls end.
//
// The interposers (emulation, record, tuned) stand before the second one, and know nothing of HIP. A slot of the program's table
// has a handler that calls the slot of CUDA's function of the same meaning (rows.h); where there is none, one that says so.
// The slots of CUDA's table are an interposer's own functions (those of the emulation), or end in the program's HIP runtime.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/hip/headers.h"
#include "mneme/hooks/call_hooks.h"

namespace mneme::hip {

// What CUDA's slots hold before interposers stand before them.
enum class SlotsEnd {
  filled,   // what an interposer fills them with, which implements CUDA's functions
  runtime,  // functions that call the program's own HIP runtime
};

// The function of that name in the list of functions; nothing where the list has none.
std::optional<mneme_hip_call> find_call(std::string_view name);

class Table final {
 public:
  // The table of that index, below MNEME_MAX_TABLES.
  static Table& attached(uint32_t index);

  // The program's table, whose slots are filled.
  mneme_call_table& abi() const { return *program_; }
  // The function of the program's own HIP runtime; null where it has none of that name.
  mneme_function real(mneme_hip_call call) const { return program_->real[call]; }
  // The same by its name: of a function that the list need not have.
  mneme_function real(std::string_view name) const;
  // What the runtime has of that name from now on. For tests of runtimes that are newer than the list.
  void set_real(const std::string& name, mneme_function function) { set_by_tests_[name] = function; }
  // The slot of CUDA's table, as the interposers have left it.
  mneme_function cuda(mneme_call call) const { return slots_[call]; }

  // The same, for calls from within. Function: of its type.
  template <typename Function>
  Function runtime(mneme_hip_call call) const {
    return reinterpret_cast<Function>(program_->real[call]);
  }
  template <typename Function>
  Function runtime(std::string_view name) const {
    return reinterpret_cast<Function>(real(name));
  }
  bool ends_in_runtime() const { return end_ == SlotsEnd::runtime; }
  // Whether an interposer has replaced the slot's end.
  bool is_stood_before(mneme_call call) const { return slots_[call] != real_[call]; }
  // Sets the end of a slot, unless it has one. For attach().
  template <typename R, typename... A>
  void end(mneme_call call, R (*function)(A...)) {
    if (has_end_[call]) return;
    has_end_[call] = true;
    slots_[call] = reinterpret_cast<mneme_function>(function);
  }
  bool has_end(mneme_call call) const { return has_end_[call]; }
  void set_slot(mneme_call call, mneme_function function) { slots_[call] = function; }

  // Makes CUDA's table, at the first call, and fills the program's. Later calls find it as it is.
  mneme_call_table& attach(mneme_call_table& program, SlotsEnd end);

 private:
  mneme_call_table* program_ = nullptr;
  SlotsEnd end_ = SlotsEnd::filled;
  bool has_end_[MNEME_CALL_COUNT] = {};
  mneme_call_table cuda_{};
  mneme_function slots_[MNEME_CALL_COUNT] = {};
  mneme_function real_[MNEME_CALL_COUNT] = {};
  std::map<std::string, mneme_function, std::less<>> set_by_tests_;
};

// MNEME_CUDA(table, cudaMalloc)(&pointer, size)
#define MNEME_CUDA(table, name) (reinterpret_cast<decltype(&::name)>((table).cuda(MNEME_CALL_##name)))

// Each fills the slots of one family of functions, and the ends of the slots that it calls.
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
void install_loaded_code(const Table& table);      // where CUDA's slots end in the runtime
void install_external_memory(const Table& table);  // where CUDA's slots end in the runtime
// Where CUDA's slots end in the runtime: the ends that are written, and then the rest, which return cudaErrorNotSupported and say
// so once by name.
void install_ends(Table& table);
// The names of CUDA's functions that have no end.
std::vector<std::string_view> functions_without_end(const Table& table);

}  // namespace mneme::hip
