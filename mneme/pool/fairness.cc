#include "mneme/pool/fairness.h"

#include <algorithm>

namespace mneme {

PoolWorker* next_receiver(PoolWorkers& workers, WorkerRole role, size_t compile_depth) {
  PoolWorker* next = nullptr;
  for (auto& [id, worker] : workers) {
    if (worker.role() != role || !worker.has_room(compile_depth)) continue;
    const auto jobs = [&](const PoolWorker& one) { return role == WorkerRole::compile ? one.load() : one.jobs().size(); };
    if (next == nullptr || jobs(worker) < jobs(*next)) next = &worker;
  }
  return next;
}

size_t count_at_compilers(const PoolWorkers& workers) {
  size_t count = 0;
  for (const auto& [id, worker] : workers)
    if (worker.role() == WorkerRole::compile) count += worker.load();
  return count;
}

size_t compile_depth(size_t to_compile, unsigned compile_workers, const PoolWorkers& workers) {
  if (std::ranges::none_of(workers, [](const auto& entry) { return entry.second.is_short_of_jobs(); }))
    return PoolWorker::kCompileDepth;
  return std::min(PoolWorker::kCompileDepth + to_compile / (2 * compile_workers), PoolWorker::kMostCompileDepth);
}

size_t most_ahead_of_devices(unsigned compile_workers, size_t devices, size_t depth) {
  return depth * compile_workers + JobPace::kLeast * devices;
}

}  // namespace mneme
