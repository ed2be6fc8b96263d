#include "mneme/record/program_clock.h"

#include <map>
#include <mutex>

#include "mneme/device/backend.h"

namespace mneme {
namespace {

class ObserverClock final : public ProgramClock {
 public:
  ObserverClock(LaunchObserver& observer, std::string source) : observer_(observer), source_(std::move(source)) {}
  std::string source() const override { return source_; }
  bool counts_first_launches() const override { return true; }
  std::optional<LaunchTag> begin(Vendor&, void*) override { return observer_.begin(); }
  void end(LaunchTag tag, bool launched) override { observer_.end(tag, launched); }
  void fetch() override { [[maybe_unused]] Status ignored = observer_.flush(); }
  std::optional<Nanoseconds> take(LaunchTag tag) override { return observer_.take(tag); }

 private:
  LaunchObserver& observer_;
  std::string source_;
};

// Of launches that are done when their call returns.
class HostClock final : public ProgramClock {
 public:
  std::string source() const override { return "steady_clock"; }

  std::optional<LaunchTag> begin(Vendor&, void*) override {
    std::lock_guard lock(mutex_);
    begun_[++last_] = Clock::now();
    return last_;
  }
  void end(LaunchTag tag, bool launched) override {
    const Clock::time_point now = Clock::now();
    std::lock_guard lock(mutex_);
    auto begun = begun_.extract(tag);
    if (launched && !begun.empty()) done_[tag] = now - begun.mapped();
  }
  std::optional<Nanoseconds> take(LaunchTag tag) override {
    std::lock_guard lock(mutex_);
    auto done = done_.extract(tag);
    return done.empty() ? std::nullopt : std::optional(done.mapped());
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  LaunchTag last_ = 0;
  std::map<LaunchTag, Clock::time_point> begun_;
  std::map<LaunchTag, Nanoseconds> done_;
};

class EventClock final : public ProgramClock {
 public:
  explicit EventClock(std::string source) : source_(std::move(source)) {}
  std::string source() const override { return source_; }

  std::optional<LaunchTag> begin(Vendor& vendor, void* stream) override {
    auto start = vendor.record_event(stream);
    if (!start.ok()) return std::nullopt;
    std::lock_guard lock(mutex_);
    launches_[++last_] = {&vendor, stream, *start, nullptr};
    return last_;
  }
  void end(LaunchTag tag, bool launched) override {
    std::lock_guard lock(mutex_);
    auto found = launches_.find(tag);
    if (found == launches_.end()) return;
    auto end = launched ? found->second.vendor->record_event(found->second.stream) : Status(Code::invalid_argument, "");
    if (end.ok())
      found->second.end = *end;
    else
      forget(found);
  }
  std::optional<Nanoseconds> take(LaunchTag tag) override {
    std::lock_guard lock(mutex_);
    auto found = launches_.find(tag);
    if (found == launches_.end() || found->second.end == nullptr) return std::nullopt;
    auto time = found->second.vendor->elapsed(found->second.start, found->second.end);
    if (time) forget(found);
    return time;
  }

 private:
  struct Pair {
    Vendor* vendor;
    void* stream;
    void *start, *end;
  };
  void forget(std::map<LaunchTag, Pair>::iterator launch) {
    launch->second.vendor->destroy_event(launch->second.start);
    if (launch->second.end != nullptr) launch->second.vendor->destroy_event(launch->second.end);
    launches_.erase(launch);
  }

  const std::string source_;
  std::mutex mutex_;
  LaunchTag last_ = 0;
  std::map<LaunchTag, Pair> launches_;
};

// The vendor's events are those that the device's own clock has where nothing observes launches.
std::string event_source(Device& device) {
  const auto clock = device.clock();
  return clock.ok() && clock->source.ends_with("_event") ? clock->source : "cuda_event";
}

}  // namespace

std::unique_ptr<ProgramClock> make_program_clock(Device& device) {
  if (LaunchObserver* observer = device.launch_observer()) {
    auto clock = device.clock();
    return std::make_unique<ObserverClock>(*observer, clock.ok() ? clock->source : "");
  }
  if (backend_of(device.properties().kind).launch_return == LaunchReturn::when_done) return std::make_unique<HostClock>();
  return std::make_unique<EventClock>(event_source(device));
}

}  // namespace mneme
