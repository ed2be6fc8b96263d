#include "mneme/pool/pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mneme/base/processors.h"
#include "mneme/compile/backend.h"
#include "mneme/device/device_count.h"
#include "mneme/pool/pool_thread.h"
#include "mneme/pool/weights.h"
#include "mneme/pool/worker_process.h"
#include "mneme/store/database.h"

namespace mneme {
namespace {

// Each is a row in a table of the kernel's, and of who closes all that there may be.
constexpr rlim_t kMostFiles = 65536;

void raise_limit_of_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t most = std::min(files.rlim_max, kMostFiles);
  if (files.rlim_cur >= most) return;
  files.rlim_cur = most;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

Status check(const PoolLimits& limits) {
  for (auto [name, limit] :
       {std::pair("compiling", limits.compiling), std::pair("running", limits.running), std::pair("starting", limits.starting)})
    if (!(limit.count() > 0))
      return error(Code::invalid_argument, "opening a pool: limits.{} must be more than 0 s, not {}", name, limit.count());
  return {};
}

}  // namespace

Result<std::vector<int>> all_devices(DeviceKind kind) {
  MNEME_ASSIGN(const int count, count_devices(kind));
  if (count == 0) return error(Code::unavailable, "there is no {} device here", to_string(kind));
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

unsigned usual_compile_workers(size_t devices) {
  const size_t cores = usable_processors();
  return cores > devices ? static_cast<unsigned>(cores - devices) : 1;
}

PoolResult Future::get() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->result.has_value(); });
  return *state_->result;
}

bool Future::wait_for(std::chrono::duration<double> time) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, time, [&] { return state_->result.has_value(); });
}

void Future::cancel() const {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->result) return;
  }
  state_->wake_up->call_to_cancel(state_->id);
}

std::vector<Nanoseconds> Future::times_so_far() const {
  std::lock_guard lock(state_->mutex);
  return state_->times;
}

Result<std::unique_ptr<Pool>> Pool::open(PoolOptions options) {
  if (options.instances.empty()) return error(Code::invalid_argument, "opening a pool: no recorded instance is given");
  MNEME_TRY(check_weights(options.weights, options.instances.size()).with_context("opening a pool"));
  if (std::ranges::all_of(options.weights, [](double weight) { return weight == 1; })) options.weights.clear();
  if (!options.compile_for.empty()) {
    MNEME_ASSIGN(options.device_kind, kind_of_architecture(options.compile_for));
    options.devices = {0};  // one worker, which needs no device
  }
  if (options.devices.empty()) return error(Code::invalid_argument, "opening a pool: no device is given");
  MNEME_TRY(check(options.limits));
  const Path kernel = options.database / (options.static_hash.hex() + ".json");
  MNEME_TRY(locate_kernel(kernel).status().with_context("opening a pool"));
  if (options.command.empty()) {
    auto command = worker_command();
    if (!command.ok()) return command.status().with_context("opening a pool");
    options.command = std::move(*command);
  }
  if (options.compile_workers == 0)
    options.compile_workers = usual_compile_workers(options.compile_for.empty() ? options.devices.size() : 0);
  raise_limit_of_files();
  MNEME_ASSIGN(auto thread, PoolThread::start(std::move(options)));
  return std::unique_ptr<Pool>(new Pool(std::move(thread)));
}

Pool::Pool(std::unique_ptr<PoolThread> thread) : thread_(std::move(thread)) {}
Pool::~Pool() = default;

Future Pool::submit(const Configuration& configuration, std::function<void(const PoolResult&)> on_done) {
  return Future(thread_->submit(configuration, std::move(on_done)));
}

Future Pool::measure_anew(const Configuration& configuration, std::string label, std::function<void(const PoolResult&)> on_done) {
  return Future(thread_->submit(configuration, std::move(on_done), std::move(label)));
}

void Pool::drain() { thread_->drain(); }
PoolProgress Pool::progress() const { return thread_->progress(); }
Status Pool::status() const { return thread_->status(); }

}  // namespace mneme
