// Standard output kept for a command's result.
#pragma once

#include <unistd.h>

#include <cstdio>

namespace mneme::cli {

// While one lives, what is written to standard output goes to standard error: a kernel may print, and the result must stay one
// JSON object.
class DivertedOutput {
 public:
  DivertedOutput() : saved_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~DivertedOutput() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  DivertedOutput(const DivertedOutput&) = delete;
  DivertedOutput& operator=(const DivertedOutput&) = delete;

 private:
  int saved_;
};

}  // namespace mneme::cli
