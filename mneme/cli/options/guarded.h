// Guard: runs the part of a command that compiles and runs kernels in a child process, so that a crash or a hang there is an
// outcome of the command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/process/default_limits.h"
#include "mneme/replay/result.h"

namespace mneme::cli {

// What a command leaves: text for standard output, and its exit status.
struct Outcome {
  std::string output;
  int exit_status = 0;
};

// How an outcome's output is written: as text for a person, which JSON is too (write_output()), or as a file's content
// (write_content()).
enum class OutputKind { text, content };

// What the work does: compile and run, or only compile.
enum class GuardedWork { replay, compile };

class Guard {
 public:
  // Declares --compile-timeout, --run-timeout, --load-timeout, --compile-memory and --no-guard. Where the work only compiles, the
  // limits on running are in the group kWithoutEffect.
  void declare(CLI::App& app, GuardedWork work = GuardedWork::replay);

  // Runs `work` in a child, or in this process under --no-guard, writes its output, and returns its exit status. Where the child
  // ended before its work was done, the reason is reported on standard error, and `failed` makes the outcome of it. SIGINT,
  // SIGTERM, SIGHUP and SIGQUIT end the child and then this process. No device may have been opened before.
  int run(const std::function<Outcome()>& work, const std::function<Outcome(const Status&)>& failed,
          OutputKind kind = OutputKind::text);

  // Called by `work` with each result. True: the search for a mask has ended in a device fault, so that the child is of no more
  // use. What `work` returns is not used then, and run() runs it once more in another child. There no_mask() is not empty: it is
  // the reason to give to sessions, so that they look for no mask. Always false under --no-guard.
  bool lost_to_mask(const ReplayResult& result);
  const std::string& no_mask() const { return no_mask_; }

 private:
  static constexpr char kGroup[] = "Limits";

  double compile_seconds_ = static_cast<double>(kLimitsOfOneLaunch.compiling.count());
  double run_seconds_ = static_cast<double>(kLimitsOfOneLaunch.running.count());
  double load_seconds_ = static_cast<double>(kLimitsOfOneLaunch.preparing.count());
  uint64_t compile_gib_ = kCompileMemory.count >> 30;
  bool none_ = false;
  std::string no_mask_;
};

}  // namespace mneme::cli
