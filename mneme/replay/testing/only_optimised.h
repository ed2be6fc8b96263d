// Code that is right only when it is optimised, as undefined behaviour can make it.
#pragma once

#include <string>

namespace mneme::testing_replay {

// `ir`, where the kernel stores the float `stored` by a null pointer (or so) unless the optimiser sees what a local variable
// holds. In code that notes its accesses it does not: the variable's address is noted.
inline std::string only_optimised(std::string ir, const std::string& stored) {
  const auto replace = [&](const std::string& from, const std::string& to) { ir.replace(ir.find(from), from.size(), to); };
  replace("entry:\n", R"(entry:
  %local = alloca i32
  store i32 1, ptr %local
  %one = call i32 @read(ptr %local)
  %known = call i1 @llvm.is.constant.i32(i32 %one)
)");
  replace("  store float " + stored + ", ptr %at",
          "  %place = select i1 %known, ptr %at, ptr inttoptr (i64 8 to ptr)\n  store float " + stored + ", ptr %place");
  return ir + R"(
declare i1 @llvm.is.constant.i32(i32)
define internal i32 @read(ptr %variable) alwaysinline {
  %value = load i32, ptr %variable
  ret i32 %value
}
)";
}

}  // namespace mneme::testing_replay
