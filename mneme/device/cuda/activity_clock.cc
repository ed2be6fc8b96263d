#include "mneme/device/cuda/activity_clock.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace mneme::cuda {
namespace {

constexpr size_t kBufferSize = 256 << 10;  // above a thousand kernels
constexpr int kPatience = 20;              // milliseconds for records that are late
constexpr int kGentleTries = 2;            // before records are asked for by force

// CUPTI gives its buffer callbacks no argument.
std::atomic<ActivityClock*> instance{nullptr};
thread_local LaunchTag current_tag = 0;

}  // namespace

Result<ActivityClock*> ActivityClock::open(const std::vector<std::string>& paths) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (ActivityClock* there = instance; there != nullptr && !paths.empty()) {
    if (std::find(paths.begin(), paths.end(), there->cupti_.library) != paths.end()) return there;
    return error(Code::unavailable, "opening CUPTI: this process has it open as {}", there->cupti_.library);
  }
  MNEME_ASSIGN(Cupti cupti, open_cupti(paths));
  // Never destroyed: records may arrive until the process ends.
  std::unique_ptr<ActivityClock> clock(new ActivityClock(std::move(cupti)));
  instance = clock.get();
  if (Status status = clock->start(); !status.ok()) {
    if (clock->subscriber_ != nullptr) clock->cupti_.unsubscribe(clock->subscriber_);
    instance = nullptr;
    // CUPTI may keep the callbacks; they find no instance.
    return status.with_context(fmt::format("timing kernels by {}", clock->cupti_.library));
  }
  return clock.release();
}

Status ActivityClock::start() {
  MNEME_TRY(cupti_.check(cupti_.subscribe(&subscriber_, &on_launch, this), "cuptiSubscribe"));
  for (uint32_t function : kCuptiDriverLaunches)
    MNEME_TRY(cupti_.check(cupti_.enable_callback(1, subscriber_, kCuptiDriverApi, function),
                           fmt::format("cuptiEnableCallback(driver, {})", function)));
  // An older CUPTI does not know the newest of the runtime's; the driver's call is seen all the same.
  for (uint32_t function : kCuptiRuntimeLaunches) cupti_.enable_callback(1, subscriber_, kCuptiRuntimeApi, function);
  MNEME_TRY(
      cupti_.check(cupti_.register_callbacks(&on_buffer_requested, &on_buffer_completed), "cuptiActivityRegisterCallbacks"));
  return cupti_.check(cupti_.activity_enable(kCuptiConcurrentKernel), "cuptiActivityEnable(CONCURRENT_KERNEL)");
}

void ActivityClock::on_launch(void* self, uint32_t, uint32_t, const void* data) {
  const auto& call = *static_cast<const CuptiCallbackData*>(data);
  constexpr uint32_t kEntry = 0;
  if (current_tag != 0 && call.site == kEntry) static_cast<ActivityClock*>(self)->note(call.correlation, current_tag);
}

void ActivityClock::note(uint32_t correlation, LaunchTag tag) {
  std::lock_guard lock(mutex_);
  auto pending = pending_.find(tag);
  if (pending == pending_.end()) return;
  if (tags_.try_emplace(correlation, tag).second) pending->second.correlations.push_back(correlation);
}

void ActivityClock::on_buffer_requested(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferSize));
  *size = *buffer != nullptr ? kBufferSize : 0;
  *records = 0;  // as many as fit
}

void ActivityClock::on_buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  ActivityClock* clock = instance;
  CuptiActivity* record = nullptr;
  while (clock != nullptr && valid != 0 && clock->cupti_.next_record(buffer, valid, &record) == kCuptiSuccess)
    if (record->kind == kCuptiConcurrentKernel) clock->read(*reinterpret_cast<const CuptiKernelRecord*>(record));
  std::free(buffer);
}

void ActivityClock::read(const CuptiKernelRecord& record) {
  std::lock_guard lock(mutex_);
  auto tag = tags_.find(record.correlation);
  // Without times: the kernel had not ended when the records were asked for.
  if (tag == tags_.end() || record.end == 0) return;
  auto pending = pending_.find(tag->second);
  if (pending != pending_.end()) pending->second.time = Nanoseconds(static_cast<double>(record.end - record.start));
}

LaunchTag ActivityClock::begin() {
  std::lock_guard lock(mutex_);
  pending_[++last_tag_];
  return current_tag = last_tag_;
}

void ActivityClock::end(LaunchTag tag, bool launched) {
  current_tag = 0;
  if (!launched) forget(tag);
}

Status ActivityClock::flush() { return cupti_.check(cupti_.flush_all(0), "cuptiActivityFlushAll(0)"); }

std::optional<Nanoseconds> ActivityClock::take(LaunchTag tag) {
  std::lock_guard lock(mutex_);
  auto pending = pending_.find(tag);
  if (pending == pending_.end() || !pending->second.time) return std::nullopt;
  const Nanoseconds time = *pending->second.time;
  erase(pending);
  return time;
}

void ActivityClock::forget(LaunchTag tag) {
  std::lock_guard lock(mutex_);
  if (auto pending = pending_.find(tag); pending != pending_.end()) erase(pending);
}

void ActivityClock::erase(std::unordered_map<LaunchTag, Pending>::iterator pending) {
  for (uint32_t correlation : pending->second.correlations) tags_.erase(correlation);
  pending_.erase(pending);
}

bool ActivityClock::all_there(std::span<const LaunchTag> tags) {
  std::lock_guard lock(mutex_);
  return std::all_of(tags.begin(), tags.end(), [&](LaunchTag tag) {
    auto pending = pending_.find(tag);
    return pending != pending_.end() && pending->second.time;
  });
}

Result<std::vector<Nanoseconds>> ActivityClock::take_all(std::span<const LaunchTag> tags) {
  if (tags.empty()) return std::vector<Nanoseconds>();
  Status flushed = all_there(tags) ? Status() : flush();
  // A buffer that also has a kernel of another stream that still runs comes only by force, and that kernel's time is then lost.
  for (int tries = 0; flushed.ok() && tries < kPatience && !all_there(tags); ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    flushed = tries < kGentleTries ? flush() : cupti_.check(cupti_.flush_all(kCuptiFlushForced), "cuptiActivityFlushAll(FORCED)");
  }
  std::vector<Nanoseconds> times;
  for (LaunchTag tag : tags) {
    if (auto time = take(tag))
      times.push_back(*time);
    else
      forget(tag);
  }
  MNEME_TRY(flushed);
  if (times.size() != tags.size())
    return error(Code::internal,
                 "timing {} launches: CUPTI has records of {} of them only; MNEME_CLOCK=event times them by events instead",
                 tags.size(), times.size());
  return times;
}

}  // namespace mneme::cuda
