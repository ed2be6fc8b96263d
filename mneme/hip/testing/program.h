// For tests: the call table of a HIP program, and CUDA's table behind it, whose slots tests fill.
#pragma once

#include <gtest/gtest.h>

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
  Program() { cuda = &Table::attached(0).attach(table); }
};

}  // namespace mneme::hip
