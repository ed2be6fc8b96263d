// PointerUse: how a kernel reaches memory. It tells, from the kernel's IR, what the pointers start from that the kernel
// accesses memory through. No LLVM type here.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme {

// What pointers start from.
struct PointerRoot {
  enum class Kind {
    parameter,  // a parameter that is a pointer
    member,     // a pointer in a parameter that is a structure by value
    variable,   // a variable of the application's state
  };
  Kind kind = Kind::parameter;
  unsigned parameter = 0;     // index, of a parameter or a member
  uint64_t offset = 0;        // of a member, in bytes from the beginning of its structure
  std::string variable = {};  // name
  bool read = false;
  bool written = false;
};

struct PointerUse {
  // Of all accesses but those to shared memory, to a thread's own memory and to constants.
  std::vector<PointerRoot> roots;
  // Empty where `roots` are all. Else the first other thing that memory is reached through: "a pointer that is loaded from
  // memory".
  std::string other;
  // Threads of one launch may learn from each other, by barriers, atomic or volatile accesses.
  bool synchronises = false;
};

// Looks at the kernel after inlining and optimisation, as device code for `architecture` ("sm_90"). An access counts for each
// root that its pointer may start from; an access that is not understood is `other`. Indices are not looked at: a pointer that
// is moved out of the memory that its root points into still counts for that root.
//
// not_found: the module has no such kernel. internal: LLVM reported a fatal error. exhausted: LLVM ran out of memory.
Result<PointerUse> find_pointer_use(const ir::Module& module, const std::string& kernel, const std::string& architecture);

}  // namespace mneme
