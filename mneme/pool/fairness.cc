#include "mneme/pool/fairness.h"

namespace mneme {

PoolWorker* next_receiver(PoolWorkers& workers, WorkerRole role) {
  PoolWorker* next = nullptr;
  for (auto& [id, worker] : workers) {
    if (worker.role() != role || !worker.has_room()) continue;
    if (next == nullptr || worker.jobs().size() < next->jobs().size()) next = &worker;
  }
  return next;
}

size_t count_at_compilers(const PoolWorkers& workers) {
  size_t count = 0;
  for (const auto& [id, worker] : workers)
    if (worker.role() == WorkerRole::compile) count += worker.jobs().size();
  return count;
}

size_t most_ahead_of_devices(unsigned compile_workers, size_t devices) {
  return PoolWorker::kCompileDepth * compile_workers + JobPace::kLeast * devices;
}

}  // namespace mneme
