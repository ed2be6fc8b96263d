// Lists the passes that LLVM knows by name, for a pipeline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mneme {

// What a pass works on, which decides where in a pipeline it can stand.
enum class PassLevel { module, cgscc, function, loop };
std::string_view to_string(PassLevel level);

struct RegisteredPass {
  PassLevel level = PassLevel::module;
  std::string name;                     // "loop-unroll"
  std::vector<std::string> parameters;  // that it can be given: "O3", "full-unroll-max=N"
  friend bool operator==(const RegisteredPass&, const RegisteredPass&) = default;
};

// All passes, by level, in LLVM's order; a name may stand at several levels. Left out are passes that leave something behind
// (dot-* and view-*, which write files or start programs that show them), the target's own passes, and those of plugins.
std::vector<RegisteredPass> registered_passes();

}  // namespace mneme
