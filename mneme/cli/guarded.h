// The part of a command that compiles and runs kernels, in a child process: what goes wrong there is an outcome of the command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/process/default_limits.h"
#include "mneme/process/guarded.h"
#include "mneme/replay/result.h"

namespace mneme::cli {

// What a command leaves: text for standard output, and its exit status.
struct Outcome {
  std::string output;
  int exit_status = 0;
};

// What an outcome's output is: text for a person, JSON included; or a file's content, which write_content() writes.
enum class OutputKind { text, content };

enum class GuardedWork { replay, compile };

class Guard {
 public:
  // --compile-timeout, --run-timeout, --load-timeout, --compile-memory, --no-guard; where nothing is run, its limits are without
  // effect.
  void declare(CLI::App& app, GuardedWork work = GuardedWork::replay);

  // Runs `work` in a child, or here under --no-guard, prints its output and returns its exit status. Where the child ended
  // before its work was done, `failed` makes the outcome of the reason, which goes to standard error here. A signal that ends
  // this process ends both. No device may have been opened before.
  int run(const std::function<Outcome()>& work, const std::function<Outcome(const Status&)>& failed,
          OutputKind kind = OutputKind::text);

  // Called by `work` with each result. True: looking for what can be masked has taken the child's device along, so that what
  // `work` returns is not used. `work` is then done once more, in another child, where no_mask() is the reason why sessions look
  // for no mask. Always false under --no-guard.
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

// Why a child's work was not done, and what to do: for every end but finished and interrupted.
Status explain(const GuardedEnd& end);

}  // namespace mneme::cli
