// What the IR of a kernel says of its launch: where the parameters lie, and the block that it requires.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

struct KernelParameter {
  enum class Kind { integer, floating, pointer, aggregate };
  Kind kind = Kind::integer;
  std::string name;     // empty where the IR has none
  std::string type;     // LLVM spelling: "i32", "ptr addrspace(1)"
  uint64_t offset = 0;  // in the parameter buffer of a launch
  uint64_t size = 0;
  uint32_t alignment = 1;
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

// The parameters of a kernel, in order. Each lies at the next multiple of its alignment. A structure by value is a pointer with
// the attribute byval, and lies in the buffer itself. not_found: the module does not define the kernel; the message lists the
// kernels that it does. incompatible: it defines it as a function, and no kernel.
Result<std::vector<KernelParameter>> kernel_parameters(const Module& module, const std::string& kernel);

// The only block that the kernel can be launched with (nvvm.reqntid, reqd_work_group_size); nothing where the IR requires none,
// or has no such kernel.
std::optional<Dim3> required_block(const Module& module, const std::string& kernel);

}  // namespace mneme::ir
