#include "mneme/pool/recorded_kernel.h"

#include "mneme/replay/code_level.h"

namespace mneme {

Result<std::unique_ptr<RecordedKernel>> RecordedKernel::load(const PoolSetup& setup) {
  MNEME_ASSIGN(Database database, Database::open(setup.database));
  MNEME_ASSIGN(KernelRecord kernel, database.load_kernel(setup.static_hash));
  MNEME_TRY(check_device(kernel, setup.device_kind));
  std::vector<Launch> launches;
  for (const Digest& instance : setup.instances) {
    MNEME_ASSIGN(RecordedInstance recorded, database.load_instance(setup.static_hash, instance));
    MNEME_ASSIGN(MemoryPlan plan, plan_memory(kernel, recorded.instance, recorded.prologue, recorded.epilogue));
    const double weight = setup.weights.empty() ? 1 : setup.weights[launches.size()];
    launches.push_back({std::move(recorded.instance), std::move(plan), weight});
  }
  MNEME_ASSIGN(RecordedCode code, RecordedCode::load(database, kernel));
  // Once, and not in each process that this one forks.
  if (KernelSources* sources = code.sources()) MNEME_TRY(sources->recorded().module().status());
  return std::unique_ptr<RecordedKernel>(
      new RecordedKernel{std::move(database), std::move(kernel), std::move(launches), std::move(code)});
}

HeldAddresses RecordedKernel::hold_addresses() const {
  std::vector<MemoryRange> ranges;
  for (const Launch& launch : launches) {
    const std::vector<MemoryRange> of_launch = endangered_addresses(launch.plan);
    ranges.insert(ranges.end(), of_launch.begin(), of_launch.end());
  }
  return HeldAddresses(std::move(ranges));
}

}  // namespace mneme
