// Progress: the line that tells a person at a terminal what a command is doing.
#pragma once

#include <chrono>
#include <string_view>

namespace mneme::cli {

// One line on standard error that is written over by the next and erased at the end. Writes nothing where standard error is
// not a terminal, so that logs and pipes stay clean. Used by one thread.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows what begins now, "restoring 2.0 GiB", with the time since the start.
  void stage(std::string_view what);
  // Erases the line; call it before anything else writes to the terminal.
  void clear();
  // Erases the line that another process was writing on this terminal.
  static void clear_line();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace mneme::cli
