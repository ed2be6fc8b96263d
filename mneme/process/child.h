// Child processes, in which runs what may hang or die: how one is started, how it is ended with everything that it started, and
// how it ended.
//
// A program is started with spawn(). A process that is to go on with what this one has in memory is forked, and calls
// begin_forked_child() first; run_guarded() (guarded.h) and the zygote (zygote.h) do so.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

class ProcessEnd {
 public:
  ProcessEnd() = default;  // exit status 0
  // As waitpid() tells it.
  explicit ProcessEnd(int wait_status) : wait_status_(wait_status) {}

  // The signal that ended it; 0: it exited, with exit_status().
  int signal() const;
  int exit_status() const;
  // By SIGKILL: somebody killed it, or the system did because memory ran out.
  bool was_killed() const;
  // By another signal, which its own work caused.
  bool crashed() const { return signal() != 0 && !was_killed(); }
  // "ended by signal 11 (Segmentation fault)", "ended with exit status 3"
  std::string describe() const;

 private:
  int wait_status_ = 0;
};

// The descriptor that a spawned program has the first of Spawn::descriptors at; the others follow.
inline constexpr int kFirstDescriptor = 3;

struct Spawn {
  Path program;
  std::vector<std::string> arguments;          // without the program's name
  std::vector<const Descriptor*> descriptors;  // which the child gets, from kFirstDescriptor on
  char* const* environment = nullptr;          // null: this process's
  // What else the child gets of this process. `nothing`: it reads nothing, standard output is joined to standard error, no other
  // file is open, and signals are as at login.
  enum class Inherits { everything, nothing } inherits = Inherits::everything;
};
// Starts the program; returns its process. unavailable: it cannot be started. exhausted: there are no descriptors left. The
// message is the system's reason alone.
Result<pid_t> spawn(const Spawn& spawn);

// In a process that was just forked, before anything else: it ends when `parent` does, has a process group of its own, and leaves
// no core file. Does not return where the parent has ended already.
void begin_forked_child(pid_t parent);
// This process ends with the one that started it. To be called first of all.
void end_with_parent();

// Kills a child with the processes that it started, which are its group. One that has no group yet is killed alone.
void kill_with_group(pid_t child);
// Waits for its end. Nothing: it is no child of this process any more, as where all children are reaped elsewhere.
std::optional<ProcessEnd> wait_for_end(pid_t child);

}  // namespace mneme
