#include "mneme/device/hip/dispatch_clock.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace mneme::hip {
namespace {

constexpr size_t kBufferSize = 256 << 10;  // above a thousand kernels
constexpr uint32_t kNewest = 1;            // major version whose types are known
constexpr std::string_view kKind = "KERNEL_DISPATCH";

// The process's clock, or why there is none.
struct Prepared {
  std::mutex mutex;
  bool done = false;
  DispatchClock* clock = nullptr;
  Status failure = Status(Code::unavailable, "the HIP runtime was in the process before rocprofiler-sdk could be");
};
Prepared& prepared() {
  static auto* all = new Prepared;  // outlives every user at exit
  return *all;
}

// Variables that rocprofiler-sdk sets, as they were before. Thread-safe, as far as the environment is.
class Environment {
 public:
  static Environment& get() {
    static auto* environment = new Environment;
    return *environment;
  }
  void keep() {
    std::lock_guard lock(mutex_);
    if (std::exchange(kept_, true)) return;
    for (size_t i = 0; i < kNames.size(); ++i) {
      const char* value = std::getenv(kNames[i]);
      values_[i] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    }
  }
  void restore() {
    std::lock_guard lock(mutex_);
    if (!std::exchange(kept_, false)) return;
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (values_[i])
        ::setenv(kNames[i], values_[i]->c_str(), 1);
      else
        ::unsetenv(kNames[i]);
    }
  }

 private:
  static constexpr std::array kNames = {"ROCPROFILER_REGISTER_FORCE_LOAD", "HSA_TOOLS_ROCPROFILER_V1_TOOLS"};
  std::mutex mutex_;
  bool kept_ = false;
  std::array<std::optional<std::string>, kNames.size()> values_;
};

// rocprofiler-sdk gives its first callback no argument.
DispatchClock* being_configured = nullptr;

}  // namespace

void DispatchClock::prepare(const std::vector<std::string>& paths) {
  Prepared& all = prepared();
  std::lock_guard lock(all.mutex);
  const char* wish = std::getenv("MNEME_CLOCK");
  if (all.done || (wish != nullptr && std::strcmp(wish, "event") == 0)) return;
  all.done = true;
  auto clock = configure(paths);
  if (clock.ok())
    all.clock = clock->release();  // never destroyed
  else
    all.failure = clock.status();
}

Result<DispatchClock*> DispatchClock::start() {
  Prepared& all = prepared();
  std::lock_guard lock(all.mutex);
  if (all.clock == nullptr) return all.failure;
  MNEME_TRY(all.clock->record());
  return all.clock;
}

Result<std::unique_ptr<DispatchClock>> DispatchClock::configure(const std::vector<std::string>& paths) {
  MNEME_ASSIGN(Rocprofiler rocprofiler, open_rocprofiler(paths));
  // Where rocprofiler-sdk has seen it once it stays, whatever fails.
  auto* clock = new DispatchClock(std::move(rocprofiler));
  Environment::get().keep();
  being_configured = clock;
  const RocprofilerStatus status = clock->rocprofiler_.force_configure(&on_configure);
  being_configured = nullptr;
  const std::string timing = fmt::format("timing kernels by {}", clock->rocprofiler_.library);
  if (status != kRocprofilerSuccess)
    return error(Code::unavailable, "{}: rocprofiler_force_configure: {} (is another profiler attached?)", timing,
                 clock->rocprofiler_.name_of(status));
  std::lock_guard lock(clock->mutex());
  if (!clock->initialized_.ok()) return clock->initialized_.with_context(timing);
  return std::unique_ptr<DispatchClock>(clock);
}

void DispatchClock::runtime_started() { Environment::get().restore(); }

RocprofilerTool* DispatchClock::on_configure(uint32_t version, const char*, uint32_t, RocprofilerClient*) {
  DispatchClock& clock = *being_configured;
  std::lock_guard lock(clock.mutex());
  constexpr uint32_t kMajor = 10000;
  if (version / kMajor > kNewest) {
    clock.initialized_ = error(Code::unavailable, "it is of version {}.{}, and {} is the newest that is known", version / kMajor,
                               version % kMajor / 100, kNewest);
    return nullptr;
  }
  clock.initialized_ =
      clock.rocprofiler_.check(clock.rocprofiler_.at_intercept_table_registration(&on_table, kRocprofilerHsaTable, &clock),
                               "at_intercept_table_registration");
  if (!clock.initialized_.ok()) return nullptr;
  clock.initialized_ = Status(Code::unavailable, "rocprofiler-sdk did not initialise its client");
  clock.tool_ = {sizeof clock.tool_, &on_initialize, &on_finalize, &clock};
  return &clock.tool_;
}

int DispatchClock::on_initialize(void (*)(), void* data) {
  auto& clock = *static_cast<DispatchClock*>(data);
  const Status status = clock.initialize();
  std::lock_guard lock(clock.mutex());
  clock.initialized_ = status;
  return status.ok() ? 0 : -1;
}

Status DispatchClock::initialize() {
  const char* kind = nullptr;
  uint64_t length = 0;
  MNEME_TRY(rocprofiler_.check(rocprofiler_.query_buffer_tracing_kind_name(kRocprofilerKernelDispatch, &kind, &length),
                               "query_buffer_tracing_kind_name"));
  if (kind == nullptr || std::string_view(kind) != kKind)
    return error(Code::unavailable, "its records of kind {} are {}, not {}", kRocprofilerKernelDispatch,
                 kind != nullptr ? kind : "without a name", kKind);
  MNEME_TRY(rocprofiler_.check(rocprofiler_.create_context(&context_), "create_context"));
  MNEME_TRY(rocprofiler_.check(
      rocprofiler_.create_buffer(context_, kBufferSize, kBufferSize / 2, kRocprofilerLossless, &on_records, this, &buffer_),
      "create_buffer"));
  return rocprofiler_.check(
      rocprofiler_.configure_buffer_tracing_service(context_, kRocprofilerKernelDispatch, nullptr, 0, buffer_),
      "configure_buffer_tracing_service(KERNEL_DISPATCH)");
}

void DispatchClock::on_finalize(void* data) {
  auto& clock = *static_cast<DispatchClock*>(data);
  std::lock_guard lock(clock.mutex());
  clock.ended_ = true;
}

void DispatchClock::on_table(int table, uint64_t, uint64_t, void**, uint64_t, void* data) {
  auto& clock = *static_cast<DispatchClock*>(data);
  std::lock_guard lock(clock.mutex());
  clock.runtime_seen_ = clock.runtime_seen_ || table == kRocprofilerHsaTable;
}

Status DispatchClock::record() {
  {
    std::lock_guard lock(mutex());
    if (recording_) return {};
    if (!runtime_seen_)
      return error(Code::unavailable, "timing kernels by {}: ROCm's runtime has not registered with it", rocprofiler_.library);
  }
  MNEME_TRY(rocprofiler_.check(rocprofiler_.start_context(context_), "start_context")
                .with_context(fmt::format("timing kernels by {}", rocprofiler_.library)));
  std::lock_guard lock(mutex());
  recording_ = true;
  return {};
}

void DispatchClock::on_records(RocprofilerContext, RocprofilerBuffer, RocprofilerRecordHeader** headers, size_t count, void* data,
                               uint64_t) {
  auto& clock = *static_cast<DispatchClock*>(data);
  for (size_t i = 0; i < count; ++i) {
    const RocprofilerRecordHeader& header = *headers[i];
    if (header.category != kRocprofilerTracing || header.kind != kRocprofilerKernelDispatch) continue;
    const auto& record = *static_cast<const RocprofilerDispatchRecord*>(header.payload);
    if (record.size >= sizeof record) clock.read(record);
  }
}

void DispatchClock::read(const RocprofilerDispatchRecord& record) {
  std::lock_guard lock(mutex());
  const LaunchTag tag = record.external_correlation.value;
  // A thread that has pushed nothing may have the main thread's number.
  const auto thread = threads_.find(tag);
  if (thread == threads_.end() || thread->second != record.thread || record.end < record.start || record.end == 0) return;
  // The runtime may have a kernel of its own run before the launch's.
  note_time(tag, Nanoseconds(static_cast<double>(record.end - record.start)), gpu::OfSeveral::longest);
}

uint64_t DispatchClock::this_thread() const {
  uint64_t thread = 0;
  return rocprofiler_.get_thread_id(&thread) == kRocprofilerSuccess ? thread : 0;
}

void DispatchClock::begun(LaunchTag tag) {
  const uint64_t thread = this_thread();
  {
    std::lock_guard lock(mutex());
    threads_[tag] = thread;
  }
  rocprofiler_.push_external_correlation_id(context_, thread, {tag});
}

void DispatchClock::ended(LaunchTag) {
  RocprofilerUserData popped{};
  rocprofiler_.pop_external_correlation_id(context_, this_thread(), &popped);
}

// Somebody else may be flushing the buffer already.
Status DispatchClock::flush() {
  {
    std::lock_guard lock(mutex());
    if (ended_) return Status(Code::unavailable, "rocprofiler_flush_buffer: rocprofiler-sdk has ended");
  }
  const RocprofilerStatus status = rocprofiler_.flush_buffer(buffer_);
  if (status != kRocprofilerSuccess && rocprofiler_.name_of(status).ends_with("_BUFFER_BUSY")) return {};
  return rocprofiler_.check(status, "flush_buffer");
}

}  // namespace mneme::hip
