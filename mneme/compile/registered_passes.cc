#include "mneme/compile/registered_passes.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <optional>
#include <sstream>

namespace mneme {
namespace {

constexpr std::pair<std::string_view, PassLevel> kHeadings[] = {
    {"Module", PassLevel::module}, {"CGSCC", PassLevel::cgscc}, {"Function", PassLevel::function}, {"Loop", PassLevel::loop}};

// Of a line that begins a list. Nothing: a list of analyses, or of filters.
std::optional<PassLevel> level_of(std::string_view heading) {
  for (const auto& [word, level] : kHeadings)
    if (heading == std::string(word) + " passes:" || heading == std::string(word) + " passes with params:") return level;
  return std::nullopt;
}

bool leaves_something(std::string_view name) { return name.starts_with("dot-") || name.starts_with("view-"); }

// "loop-unroll<O0;O1;full-unroll-max=N>"
RegisteredPass parse(PassLevel level, const std::string& text) {
  RegisteredPass pass{level, text.substr(0, text.find('<')), {}};
  if (const size_t open = text.find('<'); open != std::string::npos) {
    std::istringstream parameters(text.substr(open + 1, text.rfind('>') - open - 1));
    for (std::string parameter; std::getline(parameters, parameter, ';');) pass.parameters.push_back(parameter);
  }
  return pass;
}

}  // namespace

std::string_view to_string(PassLevel level) {
  switch (level) {
    case PassLevel::module: return "module";
    case PassLevel::cgscc: return "cgscc";
    case PassLevel::function: return "function";
    case PassLevel::loop: return "loop";
  }
  return "";
}

std::vector<RegisteredPass> registered_passes() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::PassBuilder().printPassNames(stream);
  std::vector<RegisteredPass> passes;
  std::istringstream lines(text);
  std::optional<PassLevel> level;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  "))
      level = level_of(line);
    else if (level && !leaves_something(line.substr(2)))
      passes.push_back(parse(*level, line.substr(2)));
  }
  return passes;
}

}  // namespace mneme
