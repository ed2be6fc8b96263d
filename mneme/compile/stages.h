// How long the stages of a compilation take.
#pragma once

#include <chrono>
#include <vector>

#include "mneme/compile/compiler.h"

namespace mneme {

class Stages {
 public:
  // Runs `work`, notes its time under `stage`, and returns what it returns.
  template <typename Work>
  auto time(const char* stage, Work&& work) {
    auto begin = std::chrono::steady_clock::now();
    auto result = work();
    times_.push_back({stage, std::chrono::steady_clock::now() - begin});
    return result;
  }
  std::vector<StageTime> take() { return std::move(times_); }

 private:
  std::vector<StageTime> times_;
};

}  // namespace mneme
