// Random pass pipelines, out of everything that LLVM has registered.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "mneme/compile/registered_passes.h"

namespace mneme {

class RandomPipelines {
 public:
  RandomPipelines();
  // Often one that does not parse, crashes, or never ends.
  std::string next(std::mt19937_64& random) const;
  size_t size() const;  // passes

 private:
  std::string element(PassLevel level, std::mt19937_64& random) const;
  std::map<PassLevel, std::vector<RegisteredPass>> passes_;
};

}  // namespace mneme
