#include "mneme/cli/python_commands.h"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>

#include "mneme/cli/application.h"
#include "mneme/cli/build_flags.h"
#include "mneme/cli/installation.h"

namespace mneme::cli {

bool is_of_python(std::string_view name) {
  return std::any_of(kPythonCommands.begin(), kPythonCommands.end(),
                     [&](const PythonCommand& command) { return command.name == name; });
}

bool is_on_path(const std::string& program) { return find_program(program).ok(); }

Result<std::string> output_of(const std::vector<std::string>& command) {
  FILE* pipe = ::popen((join_for_shell(command) + " 2>/dev/null </dev/null").c_str(), "r");
  if (pipe == nullptr) return error(Code::io, "running {}: the system refused", join_for_shell(command));
  std::string text;
  std::array<char, 512> piece{};
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
  ::pclose(pipe);
  return text;
}

std::string how_to_get_python(std::string_view extras) {
  auto installation = Installation::find();
  std::error_code ignored;
  if (installation.ok()) {
    const Path sources = installation->prefix / "share" / "mneme" / "python";
    if (std::filesystem::exists(sources / "pyproject.toml", ignored))
      return fmt::format("pip install {}", join_for_shell({fmt::format("{}[{}]", sources.string(), extras)}));
  }
  return fmt::format("pip install '.[{}]' in the sources of Mneme", extras);
}

}  // namespace mneme::cli
