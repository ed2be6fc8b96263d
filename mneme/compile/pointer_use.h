// How a kernel reaches memory, found in its IR: what the pointers that it accesses memory through start from. No LLVM type here.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme {

// Where pointers start from.
struct PointerRoot {
  enum class Kind {
    parameter,  // a parameter that is a pointer
    member,     // a pointer in a parameter that is a structure by value
    variable,   // a variable of the application's state
  };
  Kind kind = Kind::parameter;
  unsigned parameter = 0;  // index
  uint64_t offset = 0;     // of a member, in its structure
  std::string variable = {};
  bool read = false;
  bool written = false;
};

struct PointerUse {
  std::vector<PointerRoot> roots;  // of all accesses besides those to shared memory, to a thread's own and to constants
  std::string other;               // what else memory is reached through: "a pointer that is loaded from memory"; empty: nothing
  bool synchronises = false;       // threads of one launch may learn from each other: barriers, atomics, volatile accesses
};

// Looks at the kernel after inlining and optimisation, as device code for `architecture` ("sm_90"). An access counts for each
// root that its pointer may start from; what is not understood is `other`. Nothing is assumed of indices: a pointer that is moved
// out of the memory that its root points into still counts for that root.
//
// not_found: no such kernel. internal: LLVM reported a fatal error.
Result<PointerUse> find_pointer_use(const ir::Module& module, const std::string& kernel, const std::string& architecture);

}  // namespace mneme
