#include "mneme/cli/guarded.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <cstring>

#include "mneme/base/log.h"
#include "mneme/cli/command.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/supervise.h"
#include "mneme/cli/values.h"

namespace mneme::cli {
namespace {

constexpr double kMostSeconds = 1e6;  // as of a pool

// The subject of a sentence about it, as "… took longer than", "… ended by".
std::string_view subject(Activity activity) {
  switch (activity) {
    case Activity::compiling: return "compiling";
    case Activity::loading: return "preparing the device";
    case Activity::running: return "the kernel's launch";
    case Activity::timing: return "a batch of timed launches";
    case Activity::tracking: return "the launch that notes what the kernel accesses, to find what can be masked,";
    case Activity::working: return "preparing or comparing memory";
  }
  return "?";
}

Status explain_signal(const GuardedEnd& end) {
  const std::string what = fmt::format("{} ended by signal {} ({})", subject(end.activity), end.number, ::strsignal(end.number));
  if (end.number == SIGKILL)
    return error(Code::io, "{}: somebody killed the process, or the system did because memory ran out (dmesg tells)", what);
  if (end.activity == Activity::compiling)
    return error(Code::internal,
                 "{}: LLVM, a pass of the pipeline or a plugin crashed; shorten the pipeline to find which, or run it with "
                 "--no-guard under a debugger",
                 what);
  if (end.activity == Activity::running || end.activity == Activity::timing)
    return error(Code::device_fault,
                 "{}: the kernel took its process down under this configuration; run it with --no-guard under a debugger", what);
  if (end.activity == Activity::tracking)
    return error(Code::device_fault, "{}; --no-mask does without it, --no-guard shows it to a debugger", what);
  return error(Code::internal, "{}; run it with --no-guard under a debugger", what);
}

Status explain_timeout(const GuardedEnd& end) {
  const std::string what = fmt::format("{} took longer than {} s and was ended", subject(end.activity), end.limit.count());
  switch (end.activity) {
    case Activity::compiling:
      return error(Code::timeout, "{}: the pipeline may never end; --compile-timeout S allows more (0: no limit)", what);
    case Activity::loading:
      return error(Code::timeout, "{}: the device or its driver may hang; --load-timeout S allows more (0: no limit)", what);
    case Activity::timing:
      return error(Code::timeout,
                   "{}, though the verified launch came back: what the kernel does may depend on more than its memory; "
                   "--run-timeout S allows more (0: no limit)",
                   what);
    case Activity::tracking:
      return error(Code::timeout,
                   "{}, though the launch itself came back: --no-mask does without it, --run-timeout S allows more", what);
    case Activity::running:
    case Activity::working: break;
  }
  return error(Code::timeout, "{}: it may never end under this configuration; --run-timeout S allows more (0: no limit)", what);
}

// A child's reply: one byte for the exit status, why there is no mask as a string with its zero, then the output.
std::string encode(const Outcome& outcome, const std::string& no_mask) {
  return static_cast<char>(outcome.exit_status) + no_mask + '\0' + outcome.output;
}
Outcome decode(const std::string& reply, std::string& no_mask) {
  no_mask = reply.c_str() + 1;
  return {reply.substr(no_mask.size() + 2), static_cast<unsigned char>(reply[0])};
}

}  // namespace

Status explain(const GuardedEnd& end) {
  if (end.how == GuardedEnd::How::signalled) return explain_signal(end);
  if (end.how == GuardedEnd::How::exited)
    return error(Code::internal, "{} ended its process with exit status {} before there was a result", subject(end.activity),
                 end.number);
  return explain_timeout(end);
}

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
