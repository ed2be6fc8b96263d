// LastWords: what a worker wrote to its standard error during its last job, so that a crash can be explained.
#pragma once

#include <string>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"

namespace mneme {

class LastWords {
 public:
  static Result<LastWords> create();  // exhausted
  LastWords() = default;              // of nobody

  // In the worker, which inherits the descriptor: standard error goes there from now on. No file that it writes grows beyond 1
  // GiB.
  static void divert_to(const Descriptor& file);
  // In the worker, when a job begins. Does nothing where standard error was not diverted.
  static void begin_job();

  int descriptor() const { return file_.number(); }
  // The line that tells most, at most 300 characters; empty where nothing was said.
  std::string read() const;
  // All of it, of which the last MiB.
  std::string all() const { return tail(1 << 20); }

 private:
  explicit LastWords(Descriptor file) : file_(std::move(file)) {}
  std::string tail(size_t longest) const;
  Descriptor file_;
};

// Of what a process said, the line that tells most, in printable characters, at most 300.
std::string telling_line(const std::string& text);

}  // namespace mneme
