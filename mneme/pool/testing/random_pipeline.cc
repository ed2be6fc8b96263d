#include "mneme/pool/testing/random_pipeline.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <sstream>

namespace mneme {
namespace {

// They write files, or start programs that show them.
bool leaves_something(const std::string& name) { return name.starts_with("dot-") || name.starts_with("view-"); }

}  // namespace

RandomPipelines::RandomPipelines() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::PassBuilder().printPassNames(stream);
  std::istringstream lines(text);
  std::string kind;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      kind.clear();
      for (const char* known : {"Module", "CGSCC", "Function", "Loop"})
        if (line == std::string(known) + " passes:" || line == std::string(known) + " passes with params:") kind = known;
      continue;
    }
    Pass pass{line.substr(2), {}};
    if (kind.empty() || leaves_something(pass.name)) continue;
    if (const size_t open = pass.name.find('<'); open != std::string::npos) {
      std::istringstream parameters(pass.name.substr(open + 1, pass.name.rfind('>') - open - 1));
      for (std::string parameter; std::getline(parameters, parameter, ';');) pass.parameters.push_back(parameter);
      pass.name.resize(open);
    }
    passes_[kind].push_back(std::move(pass));
  }
}

size_t RandomPipelines::size() const {
  size_t count = 0;
  for (const auto& [kind, passes] : passes_) count += passes.size();
  return count;
}

std::string RandomPipelines::element(const std::string& kind, std::mt19937_64& random) const {
  const std::vector<Pass>& all = passes_.at(kind);
  const Pass& pass = all[random() % all.size()];
  std::string text = pass.name, parameters;
  for (size_t i = 0; !pass.parameters.empty() && i < random() % 3; ++i) {
    std::string parameter = pass.parameters[random() % pass.parameters.size()];
    if (const size_t equals = parameter.find('='); equals != std::string::npos)
      parameter = parameter.substr(0, equals + 1) + std::to_string(random() % 100);
    parameters += (parameters.empty() ? "" : ";") + parameter;
  }
  return parameters.empty() ? text : text + "<" + parameters + ">";
}

std::string RandomPipelines::next(std::mt19937_64& random) const {
  std::string pipeline;
  const size_t count = 1 + random() % 6;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) pipeline += ",";
    switch (random() % 8) {
      case 0: pipeline += "default<O" + std::to_string(random() % 4) + ">"; break;
      case 1:
      case 2: pipeline += element("Module", random); break;
      case 3: pipeline += "cgscc(" + element("CGSCC", random) + ")"; break;
      case 4: pipeline += "function(loop(" + element("Loop", random) + "))"; break;
      case 5: pipeline += "function(loop-mssa(" + element("Loop", random) + "))"; break;
      default: pipeline += "function(" + element("Function", random) + "," + element("Function", random) + ")"; break;
    }
  }
  return pipeline;
}

}  // namespace mneme
