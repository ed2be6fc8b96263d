// What LLVM has registered under names that a pipeline can have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mneme {

// What a pass works on, and so where it stands in a pipeline.
enum class PassLevel { module, cgscc, function, loop };
std::string_view to_string(PassLevel level);

struct RegisteredPass {
  PassLevel level = PassLevel::module;
  std::string name;                     // "loop-unroll"
  std::vector<std::string> parameters;  // that it may have: "O3", "full-unroll-max=N"
  friend bool operator==(const RegisteredPass&, const RegisteredPass&) = default;
};

// Every pass but those that leave something (dot-*, view-*: they write files, or start programs that show them), by level, in
// LLVM's order. A name may stand at several levels. The target's own passes and those of plugins are not among them.
std::vector<RegisteredPass> registered_passes();

}  // namespace mneme
