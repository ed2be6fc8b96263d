// Tunes a recorded kernel: every pipeline with every block size, many at once, and only what leaves the recorded memory counts.
//
//   tune record-db/<static-hash>.json [cuda|cpu]      without the second: a GPU where there is one, else the CPU device
#include <mneme/device/device_count.h>
#include <mneme/pool/pool.h>
#include <mneme/store/database.h>
#include <mneme/sweep/grid.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

int fail(const mneme::Status& status) {
  std::fprintf(stderr, "tune: %s\n", status.to_string().c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto kernel = mneme::locate_kernel(argc > 1 ? argv[1] : "");
  if (!kernel.ok()) return fail(kernel.status());
  auto database = mneme::Database::open(kernel->directory);
  if (!database.ok()) return fail(database.status());
  auto recorded = database->load_document(kernel->static_hash);
  if (!recorded.ok()) return fail(recorded.status());
  auto gpus = mneme::count_devices(mneme::DeviceKind::cuda);
  const bool gpu = gpus.ok() && *gpus > 0;
  auto kind = mneme::parse_device_kind(argc > 2 ? argv[2] : gpu ? "cuda" : "cpu");
  if (!kind.ok()) return fail(kind.status());
  if (*kind == mneme::DeviceKind::cuda && !gpu)
    return fail({mneme::Code::unavailable, "there is no GPU here: name the other kind of device, cpu, behind the recording"});
  auto devices = mneme::all_devices(*kind);
  if (!devices.ok()) return fail(devices.status());

  mneme::Configuration base;
  base.keep_threads = true;  // as many threads as were recorded, in blocks of another size
  auto grid = mneme::Grid::create(base, {{"passes", {"default<O0>", "default<O1>", "default<O2>", "default<O3>", "default<Os>"}},
                                         {"block.x", {32, 64, 128, 256, 512, 1024}}});
  if (!grid.ok()) return fail(grid.status());
  auto pool = mneme::Pool::open({.database = kernel->directory,
                                 .static_hash = kernel->static_hash,
                                 .instances = {recorded->instances.front().dynamic_hash},
                                 .device_kind = *kind,
                                 .devices = *devices});
  if (!pool.ok()) return fail(pool.status());

  std::vector<mneme::Future> futures;
  for (uint64_t i = 0; i < grid->size(); ++i) futures.push_back((*pool)->submit(grid->at(i)));
  std::map<mneme::Nanoseconds, mneme::PoolResult> right;  // by time
  for (const mneme::Future& future : futures) {
    mneme::PoolResult result = future.get();
    if (auto time = result.best_time())
      right[*time] = result;
    else
      std::printf("%s: %s\n", std::string(to_string(result.failure)).c_str(), result.reason.c_str());
  }
  if (right.empty()) return fail((*pool)->status());
  const auto& [time, best] = *right.begin();
  std::printf("best of %zu: %.0f ns with %s\n", futures.size(), time.count(), to_json(best.configuration).dump().c_str());
}
