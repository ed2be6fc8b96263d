#include "mneme/pool/limits.h"

namespace mneme {
namespace {

// 10 years.
constexpr PoolLimits::Seconds kNoLimit{10 * 365.25 * 24 * 3600};

}  // namespace

PoolTime WorkerLimits::after(PoolLimits::Seconds limit, PoolTime now) {
  return limit > kNoLimit ? kNever : now + std::chrono::ceil<PoolClock::duration>(limit);
}

std::string WorkerEnd::describe() const {
  if (last_words.empty()) return process.describe();
  return fmt::format("{}, after '{}'", process.describe(), last_words);
}

Status FailedStarts::count(WorkerRole role, int device, const std::string& why, const WorkerEnd& end) {
  const bool killed = why.empty() && end.process.was_killed();  // else the pool killed it because of `why`
  Counts& counts = counts_[{role, device}];
  unsigned& count = killed ? counts.killed : counts.by_themselves;
  const unsigned most = killed ? kMostKilled : kMost;
  if (++count < most) return {};
  return error(Code::unavailable, "{} workers in a row did not start: the last one {}{}", most,
               why.empty() ? end.process.describe() : why, killed ? kSomebodyKilledIt : "");
}

}  // namespace mneme
