// Stages: notes how long the stages of a compilation take.
#pragma once

#include <llvm/IR/Module.h>

#include <chrono>
#include <string>
#include <vector>

#include "mneme/compile/compiler.h"

namespace mneme {

// Replaces `text` by the module as textual IR.
Status print_to(std::string& text, const llvm::Module& module);

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
  // The times so far, in the order in which the stages ended.
  std::vector<StageTime> take() { return std::move(times_); }

 private:
  std::vector<StageTime> times_;
};

}  // namespace mneme
