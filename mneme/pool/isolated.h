// IsolatedRun: LLVM's work on IR and pipelines of a user's, in a process of its own. Where LLVM crashes, never ends or takes all
// memory, the caller gets a status.
//
//   caller ──{what to do}──▶ process, forked from a zygote (zygote.h): parse, run passes, verify
//          ◀──{bitcode}────          or {status}; or it ends, with its last words
//
// The zygote, `mneme worker --llvm`, is started with the first run and kept for this process's life, so that each further run
// takes a fork, about two milliseconds. When this process's folder or environment has changed, the next run starts another
// zygote, since the forked processes inherit both.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/run_passes.h"
#include "mneme/process/default_limits.h"

namespace mneme {

struct IsolatedWork {
  ByteVector source;                    // textual IR or bitcode, as ir::Module::parse() takes it
  std::string name;                     // what the module is called, also in messages
  std::optional<std::string> pipeline;  // as run_passes() takes it; nothing: the source is only parsed
  PassOptions options;                  // passes that are functions of the caller's cannot be used
  Bytes memory = kCompileMemory;        // how much the process may take; 0: no limit
};

struct IsolatedOutcome {
  ByteVector bitcode;  // of the resulting module, which LLVM's verifier accepts
  std::string said;    // what LLVM wrote to standard output and standard error, the last MiB of it
};

// One run. Used by one thread at a time; several runs are independent of each other.
//
//   MNEME_ASSIGN(IsolatedRun run, IsolatedRun::begin(work));
//   while (!run.wait(100ms)) …;  // or give up, and drop the run
//   MNEME_ASSIGN(IsolatedOutcome outcome, run.end());
class IsolatedRun {
 public:
  // Starts the work in its process; does not wait. unavailable: no mneme command is found, or the zygote cannot be had, twice in
  // a row. exhausted: there are no descriptors or no memory left.
  static Result<IsolatedRun> begin(const IsolatedWork& work);
  IsolatedRun(IsolatedRun&&) noexcept;
  ~IsolatedRun();  // kills the process if it still runs, with what it started

  // Waits until the work has ended, at most for `time`. True: it has ended, and end() may be called. May return false before the
  // time is over, when a signal comes.
  bool wait(std::chrono::milliseconds time);
  // What came of the work; called after wait() has returned true. Failures: those of ir::Module::parse() and run_passes();
  // corrupt: LLVM's verifier refuses what the passes left; internal: the process ended without an answer (the message has the
  // signal, the pass that ran, and LLVM's last words); unavailable: the process could not be forked, or nobody knows how it
  // ended.
  Result<IsolatedOutcome> end();

 private:
  struct State;
  explicit IsolatedRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What `mneme worker --llvm DESCRIPTOR` does: it is the zygote of such runs, and in each forked process the run, until the
// connection closes. The process must have one thread. Returns the process's exit status.
int run_llvm_worker_process(int descriptor);

}  // namespace mneme
