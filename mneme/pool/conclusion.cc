#include "mneme/pool/conclusion.h"

namespace mneme {
namespace {

Failure failure_of(const ReplayResult& result) {
  if (result.failure.ok()) return result.verified ? Failure::none : Failure::wrong_result;
  switch (result.failure.code()) {
    case Code::device_fault: return Failure::device_fault;
    case Code::timeout: return Failure::run_timeout;
    case Code::unavailable:
    case Code::io:
    case Code::internal: return Failure::worker_lost;
    default: break;
  }
  // What is loaded is the compiler's; memory that is not there for it is not.
  const bool of_code = result.stage == ReplayStage::loading || result.stage == ReplayStage::compiling;
  return of_code ? Failure::compile_error : Failure::invalid_launch;
}

std::string reason_of(const ReplayResult& result) {
  return result.failure.ok() ? describe_wrong(result) : result.failure.to_string();
}

}  // namespace

PoolResult pool_result_of(ReplayResult result) {
  PoolResult concluded;
  concluded.failure = failure_of(result);
  if (concluded.failed()) concluded.reason = reason_of(result);
  result.shared_with.reset();  // which is about the loaded object alone
  concluded.details.together = std::move(result);
  return concluded;
}

}  // namespace mneme
