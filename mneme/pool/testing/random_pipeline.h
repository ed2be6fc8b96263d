// Random pass pipelines, out of everything that LLVM has registered.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace mneme {

class RandomPipelines {
 public:
  RandomPipelines();
  // Often one that does not parse, crashes, or never ends.
  std::string next(std::mt19937_64& random) const;
  size_t size() const;  // passes

 private:
  struct Pass {
    std::string name;
    std::vector<std::string> parameters;  // that it may have
  };
  std::string element(const std::string& kind, std::mt19937_64& random) const;
  std::map<std::string, std::vector<Pass>> passes_;  // by "Module", "CGSCC", "Function", "Loop"
};

}  // namespace mneme
