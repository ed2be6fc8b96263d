// Pool: results go through an inbox to a thread of Python's, so that the pool's own thread never waits for the interpreter.
#include "mneme/pool/pool.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <mutex>

#include "arrays.h"
#include "bind.h"
#include "config.h"
#include "device_word.h"
#include "errors.h"
#include "mneme/pool/weights.h"
#include "mneme/process/default_limits.h"
#include "mneme/store/database.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

using Arrived = std::pair<uint64_t, PoolResult>;

// Of results that are done. Thread-safe.
class Inbox {
 public:
  void put(uint64_t id, const PoolResult& result) {
    std::lock_guard lock(mutex_);
    arrived_.emplace_back(id, result);
    changed_.notify_all();
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // Lets who waits look around.
  void wake() {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  // Waits for some, at most so long. Nothing: it is closed, and there will be none.
  std::optional<std::vector<Arrived>> take(std::chrono::duration<double> time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return closed_ || woken_ || !arrived_.empty(); });
    woken_ = false;
    if (closed_ && arrived_.empty()) return std::nullopt;
    return std::exchange(arrived_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrived> arrived_;
  bool closed_ = false, woken_ = false;
};

// Thread-safe.
class OpenPool {
 public:
  explicit OpenPool(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}

  // Nothing: it is closed.
  std::optional<Future> submit(uint64_t id, const Config& config, const std::optional<std::string>& label) {
    const std::shared_ptr<Pool> pool = there();
    if (!pool) return std::nullopt;
    auto arrived = [id, inbox = inbox_](const PoolResult& result) { inbox->put(id, result); };
    return label ? pool->measure_anew(config.value, *label, arrived) : pool->submit(config.value, arrived);
  }
  std::optional<std::vector<Arrived>> take(double seconds) { return inbox_->take(std::chrono::duration<double>(seconds)); }

  void wake() { inbox_->wake(); }

  PoolProgress progress() {
    const std::shared_ptr<Pool> pool = there();
    return pool ? pool->progress() : last_progress_;
  }
  Status status() {
    const std::shared_ptr<Pool> pool = there();
    return pool ? pool->status() : last_status_;
  }

  void close() {
    std::shared_ptr<Pool> pool = there();
    if (pool) {
      std::lock_guard lock(mutex_);
      last_progress_ = pool->progress();
      last_status_ = pool->status();
      pool_.reset();
    }
    pool.reset();  // gives up what is not done, and tells it
    inbox_->close();
  }
  // In a child that this process has forked there is no thread that a lock could be waited for, or the pool ended by.
  void abandon() {
    new auto(std::move(pool_));
    new auto(inbox_);
  }

 private:
  std::shared_ptr<Pool> there() {
    std::lock_guard lock(mutex_);
    return pool_;
  }

  std::mutex mutex_;  // over pool_, and what is last known of it
  std::shared_ptr<Pool> pool_;
  PoolProgress last_progress_;
  Status last_status_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
};

struct Options {
  std::vector<std::string> instances;
  std::vector<double> weights;
  std::string kind;
  std::vector<int> devices;
  unsigned compile_workers = 0;
  bool share = true;
  std::string log;
  bool resume = false;
  double compile_timeout = 0, run_timeout = 0;
  uint64_t compile_memory = 0;
};

std::shared_ptr<OpenPool> open_pool(const Database& database, const KernelDocument& kernel, const Options& options) {
  PoolOptions pool{.database = database.directory(), .static_hash = kernel.kernel.static_hash, .instances = {}};
  for (const std::string& hash : options.instances) pool.instances.push_back(unwrap(Digest::from_hex(hash)));
  pool.weights = options.weights;
  const DeviceWord device = unwrap(read_device_word(options.kind));
  pool.device_kind = device.kind;
  pool.compile_for = device.compile_for;
  pool.devices = options.devices;
  pool.compile_workers = options.compile_workers;
  pool.share = options.share;
  pool.log = options.log;
  pool.resume = options.resume;
  pool.limits.compiling = PoolLimits::Seconds(options.compile_timeout);
  pool.limits.running = PoolLimits::Seconds(options.run_timeout);
  pool.limits.compile_memory = Bytes(options.compile_memory);
  auto opened = [&] {
    nb::gil_scoped_release release;
    return Pool::open(std::move(pool));
  }();
  return std::make_shared<OpenPool>(unwrap(std::move(opened)));
}

Weights weights_of(const KernelDocument& kernel, const std::vector<std::string>& hashes, const std::optional<std::string>& by) {
  std::vector<Digest> instances;
  for (const std::string& hash : hashes) instances.push_back(unwrap(Digest::from_hex(hash)));
  return unwrap(choose_weights(by ? parse_weighed_by(*by) : std::nullopt, kernel, instances));
}

nb::dict progress(OpenPool& self) {
  const PoolProgress now = self.progress();
  nb::dict failures;
  for (const auto& [failure, number] : now.failures) {
    const std::string_view name = to_string(failure);
    failures[nb::str(name.data(), name.size())] = number;
  }
  nb::dict dict;
  dict["submitted"] = now.submitted;
  dict["done"] = now.done;
  dict["measured"] = now.measured;
  dict["shared"] = now.shared;
  dict["resumed"] = now.resumed;
  dict["failures"] = failures;
  dict["compiling"] = now.compiling;
  dict["ready"] = now.ready;
  dict["measuring"] = now.measuring;
  dict["distinct_objects"] = now.distinct_objects;
  dict["workers_replaced"] = now.workers_replaced;
  dict["devices_ready"] = now.devices_ready;
  dict["device_busy"] = now.device_busy.count();
  dict["compile_busy"] = now.compile_busy.count();
  dict["passed"] = now.passed.count();
  dict["best_time"] = now.best_time ? nb::cast(now.best_time->count()) : nb::none();
  return dict;
}

}  // namespace

void bind_pool(nb::module_& module) {
  // The default limits in seconds, of one launch and in a pool, and in bytes.
  module.attr("LAUNCH_COMPILE_TIMEOUT") = double(kLimitsOfOneLaunch.compiling.count());
  module.attr("LAUNCH_RUN_TIMEOUT") = double(kLimitsOfOneLaunch.running.count());
  module.attr("POOL_COMPILE_TIMEOUT") = double(kLimitsOfAPool.compiling.count());
  module.attr("POOL_RUN_TIMEOUT") = double(kLimitsOfAPool.running.count());
  module.attr("COMPILE_MEMORY") = kCompileMemory.count;
  nb::class_<Options>(module, "PoolOptions")
      .def(nb::init<>())
      .def_rw("instances", &Options::instances)
      .def_rw("weights", &Options::weights)
      .def_rw("kind", &Options::kind)
      .def_rw("devices", &Options::devices)
      .def_rw("compile_workers", &Options::compile_workers)
      .def_rw("share", &Options::share)
      .def_rw("log", &Options::log)
      .def_rw("resume", &Options::resume)
      .def_rw("compile_timeout", &Options::compile_timeout)
      .def_rw("run_timeout", &Options::run_timeout)
      .def_rw("compile_memory", &Options::compile_memory);
  nb::class_<Weights>(module, "Weights", "How the times of several instances are added to one.")
      .def_prop_ro("by", [](const Weights& self) { return std::string(to_string(self.by)); })
      .def_ro("of", &Weights::of)
      .def_ro("why_equal", &Weights::why_equal);
  module.def("choose_weights", &weights_of, nb::arg("kernel"), nb::arg("instances"), nb::arg("by").none(),
             "By \"program\" or \"equal\"; None: the program's where they are known.");
  module.def(
      "describe_weights",
      [](const std::string& by, const std::vector<double>& of, const std::string& why_equal) {
        return describe(Weights{parse_weighed_by(by).value_or(WeighedBy::equal), of, why_equal});
      },
      nb::arg("by"), nb::arg("of"), nb::arg("why_equal"), "For people; empty for one instance.");
  nb::class_<Future>(module, "PoolFuture").def("cancel", &Future::cancel).def("times_so_far", [](const Future& self) {
    return array_of(self.times_so_far());
  });
  nb::class_<OpenPool>(module, "Pool", "Worker processes that compile and measure configurations. Thread-safe.")
      .def_static("open", &open_pool, nb::arg("database"), nb::arg("kernel"), nb::arg("options"))
      .def("submit", &OpenPool::submit, nb::arg("id"), nb::arg("configuration"), nb::arg("label").none(),
           nb::call_guard<nb::gil_scoped_release>(), "None: the pool is closed.")
      .def("take", &OpenPool::take, nb::arg("seconds"), nb::call_guard<nb::gil_scoped_release>(),
           "Waits for results, and gives those there are, each with its id; None where the pool is closed and there are none.")
      .def("wake", &OpenPool::wake, "Has take() return.")
      .def("progress", &progress, nb::sig("def progress(self) -> dict[str, typing.Any]"))
      .def(
          "problem",
          [](OpenPool& self) {
            const Status status = self.status();
            return status.ok() ? nb::none() : exception_of(status);
          },
          nb::sig("def problem(self) -> typing.Any"))
      .def("close", &OpenPool::close, nb::call_guard<nb::gil_scoped_release>())
      .def("abandon", &OpenPool::abandon, "In a forked child: lets go of it without ending it.");
}

}  // namespace mneme::python
