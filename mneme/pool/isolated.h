// LLVM's work on what a user gave, in a process of its own: where it crashes, never ends or takes all memory, that is a status.
//
//   caller ──{what to do}──▶ process, forked from a zygote (zygote.h): parse, run passes, verify
//          ◀──{bitcode}────          or {status}; or it ends, with its last words
//
// The zygote, `mneme worker --llvm`, is started with the first run and kept for this process's life, so that a run costs a fork,
// about two milliseconds. Where this process's folder or environment has changed since, another takes its place.
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
  std::string name;                     // the module's
  std::optional<std::string> pipeline;  // as run_passes() has it; nothing: the source is only read
  PassOptions options;                  // no passes of the caller's own
  Bytes memory = kCompileMemory;        // that it may take; 0: no limit
};

struct IsolatedOutcome {
  ByteVector bitcode;  // of the module, which verifies
  std::string said;    // to standard output and standard error, of which the last MiB
};

// One run. Used by one thread at a time; several at once are independent.
class IsolatedRun {
 public:
  // unavailable: there is no mneme to run it.
  static Result<IsolatedRun> begin(const IsolatedWork& work);
  IsolatedRun(IsolatedRun&&) noexcept;
  ~IsolatedRun();  // kills it, with what it started

  // Waits for that long at most; true once it has ended.
  bool wait(std::chrono::milliseconds time);
  // What came of it, once it has ended. Fails as ir::Module::parse() and run_passes() do; corrupt too where what the passes left
  // does not verify. internal: its process ended, with the signal, the pass that ran and LLVM's last words.
  Result<IsolatedOutcome> end();

 private:
  struct State;
  explicit IsolatedRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What `mneme worker --llvm DESCRIPTOR` does: forks and is the processes of such runs until the connection closes. The process
// must have one thread. Returns its exit status.
int run_llvm_worker_process(int descriptor);

}  // namespace mneme
