#include "mneme/cli/guarded_end.h"

#include <signal.h>

#include <cstring>

namespace mneme::cli {
namespace {

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

}  // namespace

Status explain(const GuardedEnd& end) {
  if (end.how == GuardedEnd::How::signalled) return explain_signal(end);
  if (end.how == GuardedEnd::How::exited)
    return error(Code::internal, "{} ended its process with exit status {} before there was a result", subject(end.activity),
                 end.number);
  return explain_timeout(end);
}

}  // namespace mneme::cli
