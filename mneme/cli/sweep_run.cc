#include "mneme/cli/sweep_run.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "mneme/base/descriptor.h"
#include "mneme/base/log.h"
#include "mneme/base/output_file.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/pool/result_log.h"

namespace mneme::cli {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// So many for each device are given to the pool ahead of their results: enough for what waits for a compiler, is there, waits
// for the device, is there, and has its result still to be told; few enough to be given up at once.
constexpr uint64_t kAhead = 512;
constexpr auto kShowEvery = std::chrono::milliseconds(200);     // on a terminal
constexpr auto kTellEvery = std::chrono::milliseconds(10'000);  // elsewhere

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// While one lives the first signal that asks for the end is noted, and a later one has its usual effect. What comes within a
// second of the first is the same one: `timeout` sends it to the process and then to its group, some people press twice.
class EndSignals {
 public:
  explicit EndSignals(int wake_up) {
    number_ = 0;
    wake_up_ = wake_up;
    struct sigaction action{};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~EndSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  static int number() { return number_; }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  static void note(int signal) {
    const int saved = errno;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    if (number_ == 0) {
      number_ = signal;
      first_ = now;
      const uint64_t one = 1;
      [[maybe_unused]] auto written = ::write(wake_up_, &one, sizeof one);
    } else if (now.tv_sec - first_.tv_sec > 1 || (now.tv_sec != first_.tv_sec && now.tv_nsec >= first_.tv_nsec)) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);  // when this returns
    }
    errno = saved;
  }
  static inline volatile sig_atomic_t number_ = 0;
  static inline volatile int wake_up_ = -1;
  static inline timespec first_{};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

struct SweepRun::Impl {
  Impl(const SweepPlan& plan, ResultsFolder folder, const SweepOptions& options, Grid grid)
      : plan(plan),
        folder(std::move(folder)),
        options(options),
        grid(std::move(grid)),
        points(this->grid, plan),
        tally(options.rows, plan.compile_for.empty() ? Ranking::time : Ranking::code) {}

  struct Arrived {
    std::optional<uint64_t> point;  // none: the baseline
    PoolResult result;
  };

  Status read_earlier_run();
  bool everything_known() const;
  Status work();
  Status open_pool();
  Status wait_for_devices();
  void take_known();
  void feed();
  void submit(uint64_t point);
  void submit_baseline(std::string_view label);
  void wait();
  void take();
  void keep_best();
  void write_best();
  void show();
  void arrived(std::optional<uint64_t> point, const PoolResult& result);
  bool done() const { return next == points.size() && outstanding == 0; }
  bool to_end() const { return EndSignals::number() != 0; }

  const SweepPlan plan;
  const ResultsFolder folder;
  const SweepOptions options;
  const Grid grid;
  const SweepPoints points;
  std::map<Digest, PoolResult> known;
  SweepTally tally;
  SweepRate rate;

  uint64_t next = 0, outstanding = 0;
  bool end_submitted = false;
  std::optional<Nanoseconds> best;
  std::optional<Clock::time_point> start;  // of measuring
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  Clock::time_point shown = Clock::now();
  Progress line;

  Descriptor wake_up;
  std::mutex mutex;
  std::vector<Arrived> inbox;         // under the mutex
  std::optional<EndSignals> signals;  // until what was measured has been printed
  std::unique_ptr<Pool> pool;         // last: its thread fills the inbox
};

Status SweepRun::Impl::read_earlier_run() {
  if (!FileSystem::posix().exists(folder.log())) return {};
  MNEME_ASSIGN(LoggedRun earlier, read_log(folder.log()));
  for (PoolResult& result : earlier.results) {
    if (!result.label.empty()) tally.add_baseline(result);
    if (!result.label.empty() || result.failure == Failure::worker_lost || result.failure == Failure::cancelled) continue;
    result.origin = Origin::resumed;
    known.insert_or_assign(whole_digest(result.configuration), std::move(result));
  }
  return {};
}

bool SweepRun::Impl::everything_known() const {
  if (known.size() < points.size()) return false;
  for (uint64_t i = 0; i < points.size(); ++i)
    if (!known.contains(whole_digest(grid.at(points.at(i))))) return false;
  return true;
}

Status SweepRun::Impl::open_pool() {
  MNEME_TRY(check_inputs(folder, plan));
  PoolOptions pool_options;
  pool_options.database = plan.database;
  pool_options.static_hash = plan.static_hash;
  pool_options.instances = plan.instances;
  pool_options.weights = plan.weights.of_pool();
  pool_options.device_kind = plan.device;
  pool_options.compile_for = plan.compile_for;
  pool_options.devices = options.devices;
  pool_options.share = plan.share;
  pool_options.limits = plan.limits;
  pool_options.log = folder.log();
  pool_options.resume = true;
  rate.devices = options.devices.size();
  const unsigned wanted = options.compile_workers != 0
                              ? options.compile_workers
                              : usual_compile_workers(plan.compile_for.empty() ? options.devices.size() : 0);
  rate.compile_workers = static_cast<unsigned>(std::min<uint64_t>(wanted, points.size()));  // no more than have something to do
  pool_options.compile_workers = rate.compile_workers;
  MNEME_ASSIGN(pool, Pool::open(std::move(pool_options)));
  return {};
}

// So that the rate is that of measuring alone, and the baseline is measured while compilers work, as the others are.
Status SweepRun::Impl::wait_for_devices() {
  const auto opened = Clock::now();
  while (!to_end() && pool->status().ok() && pool->progress().devices_ready < options.devices.size()) {
    line.stage(plan.compile_for.empty() ? "bringing the recorded memory to the device" : "starting");
    pollfd event{wake_up.number(), POLLIN, 0};
    ::poll(&event, 1, 20);
  }
  MNEME_TRY(pool->status());
  start = Clock::now();
  rate.seconds_before = seconds_since(opened);
  rate.start = rate.now = pool->progress();
  return {};
}

Status SweepRun::Impl::work() {
  MNEME_TRY(open_pool());
  if (Status ready = wait_for_devices(); !ready.ok()) {
    take_known();
    return ready;
  }
  submit_baseline(kBaselineAtBegin);
  while (!done() && !to_end() && pool->status().ok()) {
    feed();
    wait();
    take();
    show();
  }
  const Status status = pool->status();
  line.stage("ending");
  pool.reset();  // gives up what is not done
  take();
  write_best();
  return status;
}

// Of a run that does not come to measuring anything: what an earlier one found out is there all the same.
void SweepRun::Impl::take_known() {
  if (known.empty()) return;
  for (; next < points.size(); ++next) {
    const uint64_t point = points.at(next);
    if (auto before = known.find(whole_digest(grid.at(point))); before != known.end())
      tally.add(before->second, grid.values_at(point));
  }
}

void SweepRun::Impl::feed() {
  while (next < points.size() && outstanding < kAhead * options.devices.size()) {
    const uint64_t point = points.at(next++);
    const Configuration configuration = grid.at(point);
    if (auto before = known.find(whole_digest(configuration)); before != known.end())
      tally.add(before->second, grid.values_at(point));
    else
      submit(point);
  }
  // Code does not drift.
  if (next == points.size() && !std::exchange(end_submitted, true) && plan.compile_for.empty()) submit_baseline(kBaselineAtEnd);
}

void SweepRun::Impl::submit(uint64_t point) {
  ++outstanding;
  pool->submit(grid.at(point), [this, point](const PoolResult& result) { arrived(point, result); });
}

void SweepRun::Impl::submit_baseline(std::string_view label) {
  ++outstanding;
  pool->measure_anew(plan.baseline(), std::string(label), [this](const PoolResult& result) { arrived({}, result); });
}

void SweepRun::Impl::arrived(std::optional<uint64_t> point, const PoolResult& result) {
  {
    std::lock_guard lock(mutex);
    inbox.push_back({point, result});
  }
  const uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(wake_up.number(), &one, sizeof one);
}

void SweepRun::Impl::wait() {
  pollfd event{wake_up.number(), POLLIN, 0};
  ::poll(&event, 1, static_cast<int>(kShowEvery.count()));
  uint64_t count = 0;
  [[maybe_unused]] auto heard = ::read(wake_up.number(), &count, sizeof count);
}

void SweepRun::Impl::take() {
  std::vector<Arrived> now;
  {
    std::lock_guard lock(mutex);
    now.swap(inbox);
  }
  // Where the pool has given up, what comes now says no more than that.
  const bool given_up = !pool || !pool->status().ok();
  for (Arrived& one : now) {
    --outstanding;
    const Failure failure = one.result.failure;
    if (failure == Failure::cancelled || (given_up && failure == Failure::worker_lost)) continue;
    const bool first_baseline = tally.baseline_times().empty() && tally.baseline_problem().empty();
    if (one.point)
      tally.add(std::move(one.result), grid.values_at(*one.point));
    else
      tally.add_baseline(one.result);
    if (!one.point && first_baseline && !tally.baseline_problem().empty()) {
      line.clear();
      log::warning("the launch as it was recorded fails here, and other configurations may for the same reason: {}",
                   tally.baseline_problem());
    }
  }
  if (start && pool) {
    rate.seconds = seconds_since(*start);
    rate.now = pool->progress();
  }
  keep_best();
}

// While it goes on there is always one; its speed-up is that of the baselines until then.
void SweepRun::Impl::keep_best() {
  if (tally.ranking() == Ranking::code) return;
  if (tally.fastest().empty() || (best && tally.fastest().front().time >= *best)) return;
  write_best();
}

void SweepRun::Impl::write_best() {
  if (tally.fastest().empty() || tally.ranking() == Ranking::code) return;  // best.json is of times
  best = tally.fastest().front().time;
  const std::string text = to_text(best_json(tally));
  if (Status status = write_output_file(folder.best(), std::as_bytes(std::span(text))); !status.ok())
    log::warning("{}", status.message());
}

void SweepRun::Impl::show() {
  const auto now = Clock::now();
  if (now - shown < (terminal ? kShowEvery : kTellEvery)) return;
  shown = now;
  const std::string text = sweep_line(points.size(), tally, rate);
  if (terminal)
    line.stage(text);
  else
    log::info("sweep: {}", text);
}

Result<std::unique_ptr<SweepRun>> SweepRun::open(const SweepPlan& plan, const ResultsFolder& folder,
                                                 const SweepOptions& options) {
  MNEME_ASSIGN(Grid grid, Grid::create(plan.base, plan.axes));
  MNEME_TRY(check_sample(grid, plan));
  auto impl = std::make_unique<Impl>(plan, folder, options, std::move(grid));
  impl->wake_up = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl->wake_up.open()) return error(Code::io, "making an event for the sweep: {}", std::strerror(errno));
  MNEME_TRY(impl->read_earlier_run());
  return std::unique_ptr<SweepRun>(new SweepRun(std::move(impl)));
}

SweepRun::SweepRun(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SweepRun::~SweepRun() = default;

Status SweepRun::run() {
  impl_->signals.emplace(impl_->wake_up.number());
  if (impl_->everything_known()) {
    impl_->end_submitted = true;
    impl_->feed();
    if (!FileSystem::posix().exists(impl_->folder.best())) impl_->write_best();
    return {};
  }
  Status status = impl_->work();
  impl_->line.clear();
  return interrupted() != 0 ? Status() : status;
}

bool SweepRun::began() const { return impl_->start.has_value() || impl_->tally.counts().done != 0 || impl_->everything_known(); }
int SweepRun::interrupted() const { return EndSignals::number(); }
uint64_t SweepRun::total() const { return impl_->points.size(); }
const SweepTally& SweepRun::tally() const { return impl_->tally; }
const SweepRate& SweepRun::rate() const { return impl_->rate; }

}  // namespace mneme::cli
