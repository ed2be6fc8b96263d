// LastWords: what a worker wrote to its standard error during its last job, so that a crash can be explained, and which job that
// was. A worker that notes its job here need not send a message about it before the job begins, which would wake the process that
// waits for messages and takes tens of microseconds.
#pragma once

#include <cstdint>
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
  // The same, and notes the job's number, which is not 0. False: it could not be noted.
  static bool begin_job(uint64_t job);

  int descriptor() const { return file_.number(); }
  // The number of the worker's last job; 0: none was noted.
  uint64_t job() const;
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
