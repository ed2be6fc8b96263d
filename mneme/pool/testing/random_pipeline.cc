#include "mneme/pool/testing/random_pipeline.h"

namespace mneme {

RandomPipelines::RandomPipelines() {
  for (RegisteredPass& pass : registered_passes()) passes_[pass.level].push_back(std::move(pass));
}

size_t RandomPipelines::size() const {
  size_t count = 0;
  for (const auto& [level, passes] : passes_) count += passes.size();
  return count;
}

std::string RandomPipelines::element(PassLevel level, std::mt19937_64& random) const {
  const std::vector<RegisteredPass>& all = passes_.at(level);
  const RegisteredPass& pass = all[random() % all.size()];
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
      case 2: pipeline += element(PassLevel::module, random); break;
      case 3: pipeline += "cgscc(" + element(PassLevel::cgscc, random) + ")"; break;
      case 4: pipeline += "function(loop(" + element(PassLevel::loop, random) + "))"; break;
      case 5: pipeline += "function(loop-mssa(" + element(PassLevel::loop, random) + "))"; break;
      default:
        pipeline += "function(" + element(PassLevel::function, random) + "," + element(PassLevel::function, random) + ")";
        break;
    }
  }
  return pipeline;
}

}  // namespace mneme
