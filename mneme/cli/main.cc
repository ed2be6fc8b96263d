#include <string>
#include <vector>

#include "mneme/cli/options/command.h"

int main(int argc, char** argv) { return mneme::cli::run_command_line(std::vector<std::string>(argv + 1, argv + argc)); }
