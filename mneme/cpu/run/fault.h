// What went wrong in a kernel on the CPU device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cpu {

enum class FaultKind {
  memory_access,        // an access to an address that is not mapped, or a write to one that is not writable
  stack_overflow,       // a thread's frames outgrew its stack
  arithmetic,           // integer division by zero or overflow of a division
  illegal_instruction,  // the host cannot execute an instruction; a call through a pointer to no function of the image
  assertion,            // assert() failed
  trap,                 // __trap()
  deadlock,             // all threads of a block wait for one another
  misuse,               // a call that its definition forbids: of a collective, of free with a wrong pointer
};

struct BlockPosition {
  uint32_t x = 0, y = 0, z = 0;
};

struct Fault {
  FaultKind kind = FaultKind::trap;
  std::string kernel;  // demangled
  BlockPosition block;
  // Nothing where the threads of the block ran as a loop, and none faulted when they were run again one by one.
  std::optional<BlockPosition> thread;
  uint64_t instruction = 0;         // 0: not known
  std::optional<std::string> line;  // "saxpy.cu:12", where the code was compiled with lines
  uint64_t address = 0;             // memory_access, stack_overflow
  std::string what;                 // what happened, in one clause

  // device_fault: "kernel 'k(int*)', block [0,0,0], thread [1,0,0], k.cu:12: <what>"
  Status status() const;
};

inline std::string to_string(const BlockPosition& p) { return fmt::format("[{},{},{}]", p.x, p.y, p.z); }

}  // namespace mneme::cpu
