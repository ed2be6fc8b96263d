// The commands that Mneme's Python package brings. `mneme tune` runs mneme-tune, which must be on the PATH.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::cli {

struct PythonCommand {
  std::string_view name;
  std::string_view summary;
};
inline constexpr std::array<PythonCommand, 2> kPythonCommands = {
    {{"report", "write one HTML page of what tune or sweep found"},
     {"tune", "search for the fastest right configuration of a recorded launch"}}};

bool is_of_python(std::string_view name);
// Whether find_program() finds a program of that name.
bool is_on_path(const std::string& program);
// What a program prints to standard output. It gets no input, and its standard error is dropped; how it ends does not matter. io:
// it cannot be started.
Result<std::string> output_of(const std::vector<std::string>& command);
// The command that installs the package with these extras ("tune,report"), from the sources in this installation; where there are
// none, from a clone.
std::string how_to_get_python(std::string_view extras);

}  // namespace mneme::cli
