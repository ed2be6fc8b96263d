#include "mneme/device/cuda/activity_clock.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace mneme::cuda {
namespace {

constexpr size_t kBufferSize = 256 << 10;  // above a thousand kernels

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
  std::lock_guard lock(mutex());
  if (is_awaited(tag) && tags_.try_emplace(correlation, tag).second) correlations_[tag].push_back(correlation);
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
  std::lock_guard lock(mutex());
  const auto tag = tags_.find(record.correlation);
  // Without times: the kernel had not ended when the records were asked for.
  if (tag == tags_.end() || record.end == 0) return;
  note_time(tag->second, Nanoseconds(static_cast<double>(record.end - record.start)), gpu::OfSeveral::last);
}

void ActivityClock::begun(LaunchTag tag) { current_tag = tag; }

void ActivityClock::ended(LaunchTag) { current_tag = 0; }

void ActivityClock::dropped(LaunchTag tag) {
  const auto known = correlations_.find(tag);
  if (known == correlations_.end()) return;
  for (uint32_t correlation : known->second) tags_.erase(correlation);
  correlations_.erase(known);
}

Status ActivityClock::flush() { return cupti_.check(cupti_.flush_all(0), "cuptiActivityFlushAll(0)"); }

Status ActivityClock::flush_by_force() {
  return cupti_.check(cupti_.flush_all(kCuptiFlushForced), "cuptiActivityFlushAll(FORCED)");
}

}  // namespace mneme::cuda
