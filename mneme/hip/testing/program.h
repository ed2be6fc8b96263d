// For tests: the call table of a HIP program, and CUDA's table behind it, whose slots tests fill; and one whose slots end in a
// HIP runtime, which tests make.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mneme/hip/errors.h"
#include "mneme/hip/newer_functions.h"
#include "mneme/hip/table.h"

namespace mneme::hip {

// HIP(hipMalloc)(&pointer, 64) calls through the program's table.
#define HIP(name) reinterpret_cast<decltype(&::name)>(Program::get().slots[MNEME_CALL_##name])
// Of a function that HIP's headers overload: HIP_AS(hipLaunchCooperativeKernel, hipError_t (*)(…)).
#define HIP_AS(name, ...) reinterpret_cast<__VA_ARGS__>(Program::get().slots[MNEME_CALL_##name])
// Puts a lambda without captures into CUDA's slot.
#define CUDA_IS(name, ...) \
  Program::get().cuda->slots[MNEME_CALL_##name] = reinterpret_cast<mneme_function>(static_cast<decltype(&::name)>(__VA_ARGS__))

// The call table of a HIP program with this index, and CUDA's behind it.
struct ProgramTables {
  ProgramTables(uint32_t index, SlotsEnd end)
      : table{.abi_version = MNEME_ABI_VERSION,
              .call_count = MNEME_HIP_CALL_COUNT,
              .index = index,
              .device = MNEME_TABLE_HIP,
              .slots = slots,
              .real = real,
              .find_global = nullptr,
              .calls_digest = MNEME_HIP_CALLS_DIGEST,
              .object = "test",
              .annotate = nullptr} {
    if (end == SlotsEnd::runtime) refuse_all();
    cuda = &Table::attached(index).attach(table, end);
  }
  Table& adapter() const { return Table::attached(table.index); }

  mneme_function slots[MNEME_HIP_CALL_COUNT] = {};
  mneme_function real[MNEME_HIP_CALL_COUNT] = {};
  mneme_call_table table;
  mneme_call_table* cuda = nullptr;

 protected:
  void refuse_all() { std::fill(std::begin(real), std::end(real), reinterpret_cast<mneme_function>(&refuse)); }

 private:
  static hipError_t refuse() { return hipErrorNotSupported; }
};

struct Program : ProgramTables {
  static Program& get() {
    static Program* program = new Program;
    return *program;
  }

 private:
  Program() : ProgramTables(0, SlotsEnd::filled) {}
};

// A program whose calls end in its own runtime, of which each function is there and returns hipErrorNotSupported until a test
// sets it. Tests stand before CUDA's slots as an interposer does.
struct RuntimeProgram : ProgramTables {
  static RuntimeProgram& get() {
    static RuntimeProgram* program = new RuntimeProgram;
    return *program;
  }
  // Forgets what tests have set.
  void reset() {
    std::copy(cuda->real, cuda->real + MNEME_CALL_COUNT, cuda->slots);
    refuse_all();
    for (const std::string& name : newer_) adapter().set_real(name, nullptr);
    newer_.clear();
  }
  // The runtime has a function that the list of functions need not have.
  template <typename R, typename... A>
  void runtime_has(const std::string& name, R (*function)(A...)) {
    adapter().set_real(name, reinterpret_cast<mneme_function>(function));
    newer_.push_back(name);
  }

 private:
  RuntimeProgram() : ProgramTables(1, SlotsEnd::runtime) {}
  std::vector<std::string> newer_;
};

// A handler by its name, as if the list of functions had the function.
template <typename Function>
Function own_function_of(std::string_view name, const ProgramTables& program) {
  return reinterpret_cast<Function>(own_function(name, program.table.index));
}
// The program's call; an interposer's, of the end of CUDA's slot; a function of the runtime; and an interposer's function, which
// calls the end.
#define CALL_HIP(name) reinterpret_cast<decltype(&::name)>(RuntimeProgram::get().slots[MNEME_CALL_##name])
#define END_OF(name) reinterpret_cast<decltype(&::name)>(RuntimeProgram::get().cuda->real[MNEME_CALL_##name])
#define RUNTIME_HAS(name, ...) \
  RuntimeProgram::get().real[MNEME_CALL_##name] = reinterpret_cast<mneme_function>(static_cast<decltype(&::name)>(__VA_ARGS__))
#define STAND_BEFORE(name, ...)                          \
  RuntimeProgram::get().cuda->slots[MNEME_CALL_##name] = \
      reinterpret_cast<mneme_function>(static_cast<decltype(&::name)>(__VA_ARGS__))

}  // namespace mneme::hip
