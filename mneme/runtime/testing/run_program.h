// For tests: runs a command line.
#pragma once

#include <cstdio>
#include <string>

namespace mneme::testing {

// Returns standard output and error together. `environment` is assignments as a shell has them.
inline std::string run_program(const std::string& environment, const std::string& program, const std::string& arguments = "") {
  const std::string command = environment + " " + program + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[256];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, count);
  ::pclose(pipe);
  return out;
}

}  // namespace mneme::testing
