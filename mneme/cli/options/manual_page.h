// Pages of the manual (troff, man(7)), made of what commands declare.
#pragma once

#include <string>
#include <vector>

#include "mneme/cli/options/command.h"

namespace mneme::cli {

struct ManualPage {
  std::string file;  // "mneme-replay.1"
  std::string text;
};

ManualPage manual_page(const DeclaredCommand& command);
// mneme.1, which names every command, and a page for each.
std::vector<ManualPage> manual_pages();

}  // namespace mneme::cli
