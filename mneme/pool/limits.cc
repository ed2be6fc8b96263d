#include "mneme/pool/limits.h"

#include <signal.h>
#include <sys/wait.h>

#include "mneme/process/zygote.h"

namespace mneme {
namespace {

// 10 years.
constexpr PoolLimits::Seconds kNoLimit{10 * 365.25 * 24 * 3600};

}  // namespace

PoolTime WorkerLimits::after(PoolLimits::Seconds limit, PoolTime now) {
  return limit > kNoLimit ? kNever : now + std::chrono::ceil<PoolClock::duration>(limit);
}

bool WorkerEnd::was_killed() const { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL; }
bool WorkerEnd::crashed() const { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) != SIGKILL; }

std::string WorkerEnd::describe() const {
  std::string end = describe_end(wait_status);
  if (!last_words.empty()) end += fmt::format(", after '{}'", last_words);
  return end;
}

Status FailedStarts::count(WorkerRole role, int device, const std::string& why, const WorkerEnd& end) {
  const bool killed = why.empty() && end.was_killed();  // else the pool killed it because of `why`
  Counts& counts = counts_[{role, device}];
  unsigned& count = killed ? counts.killed : counts.by_themselves;
  const unsigned most = killed ? kMostKilled : kMost;
  if (++count < most) return {};
  return error(Code::unavailable, "{} workers in a row did not start: the last one {}{}", most,
               why.empty() ? describe_end(end.wait_status) : why, killed ? kSomebodyKilledIt : "");
}

}  // namespace mneme
