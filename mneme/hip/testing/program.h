// For tests: the call table of a HIP program, and CUDA's table behind it, whose slots tests fill; and one whose slots end in a
// HIP runtime, which tests make.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "mneme/hip/errors.h"
#include "mneme/hip/table.h"

namespace mneme::hip {

// HIP(hipMalloc)(&pointer, 64) calls through the program's table.
#define HIP(name) reinterpret_cast<decltype(&::name)>(Program::get().slots[MNEME_CALL_##name])
// Of a function that HIP's headers overload: HIP_AS(hipLaunchCooperativeKernel, hipError_t (*)(…)).
#define HIP_AS(name, ...) reinterpret_cast<__VA_ARGS__>(Program::get().slots[MNEME_CALL_##name])
// Puts a lambda without captures into CUDA's slot.
#define CUDA_IS(name, ...) \
  Program::get().cuda->slots[MNEME_CALL_##name] = reinterpret_cast<mneme_function>(static_cast<decltype(&::name)>(__VA_ARGS__))

struct Program {
  mneme_function slots[MNEME_HIP_CALL_COUNT] = {};
  mneme_function real[MNEME_HIP_CALL_COUNT] = {};
  mneme_call_table table{MNEME_ABI_VERSION, MNEME_HIP_CALL_COUNT,   0,      MNEME_TABLE_HIP, slots, real,
                         nullptr,           MNEME_HIP_CALLS_DIGEST, "test", nullptr};
  mneme_call_table* cuda = nullptr;

  static Program& get() {
    static Program* program = new Program;
    return *program;
  }
  const Table& adapter() const { return Table::attached(0); }

 private:
  Program() { cuda = &Table::attached(0).attach(table, SlotsEnd::filled); }
};

// A program whose calls end in its own runtime, of which each function is there and returns hipErrorNotSupported until a test
// sets it. Tests stand before CUDA's slots as an interposer does.
struct RuntimeProgram {
  mneme_function slots[MNEME_HIP_CALL_COUNT] = {};
  mneme_function real[MNEME_HIP_CALL_COUNT] = {};
  mneme_call_table table{MNEME_ABI_VERSION, MNEME_HIP_CALL_COUNT,   1,      MNEME_TABLE_HIP, slots, real,
                         nullptr,           MNEME_HIP_CALLS_DIGEST, "test", nullptr};
  mneme_call_table* cuda = nullptr;

  static RuntimeProgram& get() {
    static RuntimeProgram* program = new RuntimeProgram;
    return *program;
  }
  const Table& adapter() const { return Table::attached(1); }
  // Forgets what tests have set.
  void reset() {
    std::copy(cuda->real, cuda->real + MNEME_CALL_COUNT, cuda->slots);
    std::fill(std::begin(real), std::end(real), reinterpret_cast<mneme_function>(&refuse));
  }

 private:
  RuntimeProgram() {
    std::fill(std::begin(real), std::end(real), reinterpret_cast<mneme_function>(&refuse));
    cuda = &Table::attached(1).attach(table, SlotsEnd::runtime);
  }
  static hipError_t refuse() { return hipErrorNotSupported; }
};
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
