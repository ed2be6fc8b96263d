// The scripts that make `mneme` complete with Tab in a shell. They ask `mneme complete` each time, and therefore need no change
// when commands, options or kernels do.
#pragma once

#include <string_view>
#include <vector>

namespace mneme::cli {

struct CompletionScript {
  std::string_view shell;  // "bash", "zsh" or "fish"
  std::string_view file;   // where an installation has it, below <prefix>/share
  std::string_view text;
};
// One for each shell.
const std::vector<CompletionScript>& completion_scripts();

}  // namespace mneme::cli
