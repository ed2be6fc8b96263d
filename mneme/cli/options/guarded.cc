#include "mneme/cli/options/guarded.h"

#include "mneme/base/log.h"
#include "mneme/cli/guarded_end.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/values.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/supervise.h"

namespace mneme::cli {
namespace {

constexpr double kMostSeconds = 1e6;  // as of a pool

// A child's reply: one byte for the exit status, why there is no mask as a string with its zero, then the output.
std::string encode(const Outcome& outcome, const std::string& no_mask) {
  return static_cast<char>(outcome.exit_status) + no_mask + '\0' + outcome.output;
}
Outcome decode(const std::string& reply, std::string& no_mask) {
  no_mask = reply.c_str() + 1;
  return {reply.substr(no_mask.size() + 2), static_cast<unsigned char>(reply[0])};
}

}  // namespace

void Guard::declare(CLI::App& app, GuardedWork work) {
  const char* of_running = work == GuardedWork::replay ? kGroup : kWithoutEffect;
  app.add_option("--compile-timeout", compile_seconds_, "seconds that one compilation may take (0: no limit)")
      ->check(number(0, kMostSeconds, "seconds"))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--run-timeout", run_seconds_, "seconds that one launch may take (0: no limit)")
      ->check(number(0, kMostSeconds, "seconds"))
      ->capture_default_str()
      ->group(of_running);
  app.add_option("--load-timeout", load_seconds_,
                 "seconds that one step of preparing the device may take: opening it, giving it memory or code (0: no limit)")
      ->check(number(0, kMostSeconds, "seconds"))
      ->capture_default_str()
      ->group(of_running);
  app.add_option("--compile-memory", compile_gib_, "GiB of memory that one compilation may take in addition (0: no limit)")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag("--no-guard", none_, "compile and run in this process, for a debugger: no limits, and a crash is a crash")
      ->group(kGroup);
}

int Guard::run(const std::function<Outcome()>& work, const std::function<Outcome(const Status&)>& failed, OutputKind kind) {
  Outcome outcome;
  if (none_) {
    outcome = work();
  } else {
    const GuardLimits limits{GuardLimits::Seconds(compile_seconds_), GuardLimits::Seconds(run_seconds_),
                             GuardLimits::Seconds(load_seconds_), Bytes(compile_gib_ << 30)};
    auto end = run_guarded(limits, [&] {
      const Outcome done = work();
      return encode(done, no_mask_);
    });
    if (end.ok() && end->how == GuardedEnd::How::finished) {
      std::string no_mask;
      outcome = decode(end->reply, no_mask);
      if (no_mask != no_mask_) {
        no_mask_ = std::move(no_mask);
        log::warning("nothing is masked, as {}", no_mask_);
        return run(work, failed, kind);
      }
    } else {
      Progress::clear_line();
      if (end.ok() && end->how == GuardedEnd::How::interrupted) end_as(end->number);
      const Status why = end.ok() ? explain(*end) : end.status();
      report(why);
      outcome = failed(why);
    }
  }
  if (kind == OutputKind::content)
    write_content(outcome.output);
  else
    write_output(outcome.output);
  return outcome.exit_status;
}

bool Guard::lost_to_mask(const ReplayResult& result) {
  const bool lost = result.stage == ReplayStage::masking && result.failure.code() == Code::device_fault;
  if (!lost || none_ || !no_mask_.empty()) return false;
  no_mask_ = result.mask;
  return true;
}

}  // namespace mneme::cli
