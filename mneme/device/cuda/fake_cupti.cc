// CUPTI over the fake driver: calls back at every launch and delivers a record for each kernel when it is flushed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "mneme/device/cuda/cupti.h"
#include "mneme/device/cuda/fake_driver.h"

using namespace mneme::cuda;

namespace {

// What a client registered stays when a test starts afresh, as it does in the real library.
void (*subscribed)(void*, uint32_t, uint32_t, const void*) = nullptr;
void* subscriber_data = nullptr;
void (*requested)(uint8_t**, size_t*, size_t*) = nullptr;
void (*completed)(CUcontext, uint32_t, uint8_t*, size_t, size_t) = nullptr;
std::vector<uint32_t> enabled;
bool recording = false;
std::vector<CuptiKernelRecord> records;
constexpr size_t kRecordSize = 160;  // longer than what is read of one

#define ENTER() \
  if (CUresult result = fake_enter(__func__); result != CUDA_SUCCESS) return static_cast<CuptiResult>(result)

}  // namespace

namespace mneme::cuda {

void fake_activity(uint64_t time, bool own) {
  constexpr uint32_t kLaunchKernelEx = 652;
  const uint32_t correlation = ++fake_state().last_correlation;
  if (subscribed != nullptr && std::count(enabled.begin(), enabled.end(), kLaunchKernelEx) != 0) {
    CuptiCallbackData data{};
    data.correlation = correlation;
    for (uint32_t site : {0u, 1u}) {
      data.site = site;
      subscribed(subscriber_data, kCuptiDriverApi, kLaunchKernelEx, &data);
    }
  }
  if (!recording || fake_state().lose_records) return;
  std::vector<uint64_t>& times = fake_state().kernel_times;
  if (!own && !times.empty()) {
    time = times.front();
    times.erase(times.begin());
  }
  CuptiKernelRecord record{};
  record.kind = kCuptiConcurrentKernel;
  record.start = 1000;
  record.end = 1000 + time;
  record.correlation = correlation;
  records.push_back(record);
}

}  // namespace mneme::cuda

extern "C" {

CuptiResult cuptiGetResultString(CuptiResult result, const char** name) {
  if (result == kCuptiMultipleSubscribers)
    *name = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  else if (result == 35)
    *name = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  else
    return 1;
  return kCuptiSuccess;
}

CuptiResult cuptiSubscribe(CuptiSubscriber* subscriber, void (*callback)(void*, uint32_t, uint32_t, const void*), void* data) {
  ENTER();
  if (subscribed != nullptr) return kCuptiMultipleSubscribers;
  subscribed = callback;
  subscriber_data = data;
  *subscriber = reinterpret_cast<CuptiSubscriber>(&subscribed);
  return kCuptiSuccess;
}

CuptiResult cuptiUnsubscribe(CuptiSubscriber) {
  subscribed = nullptr;
  enabled.clear();
  return kCuptiSuccess;
}

CuptiResult cuptiEnableCallback(uint32_t enable, CuptiSubscriber, uint32_t domain, uint32_t function) {
  ENTER();
  if (enable != 0 && domain == kCuptiDriverApi) enabled.push_back(function);
  return kCuptiSuccess;
}

CuptiResult cuptiActivityRegisterCallbacks(void (*on_request)(uint8_t**, size_t*, size_t*),
                                           void (*on_complete)(CUcontext, uint32_t, uint8_t*, size_t, size_t)) {
  ENTER();
  requested = on_request;
  completed = on_complete;
  return kCuptiSuccess;
}

CuptiResult cuptiActivityEnable(uint32_t kind) {
  ENTER();
  recording = kind == kCuptiConcurrentKernel;
  return kCuptiSuccess;
}

CuptiResult cuptiActivityFlushAll(uint32_t flag) {
  ENTER();
  ++fake_state().flushes;
  if (fake_state().records_by_force_only && flag != kCuptiFlushForced) return kCuptiSuccess;
  if (fake_state().flushes <= fake_state().kernels_end_after) {
    if (flag != kCuptiFlushForced) return kCuptiSuccess;
    for (CuptiKernelRecord& record : records) record.end = 0;
  }
  for (size_t next = 0; next < records.size();) {
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 0, valid = 0;
    requested(&buffer, &size, &most);
    for (; next < records.size() && valid + kRecordSize <= size; ++next, valid += kRecordSize)
      memcpy(buffer + valid, &records[next], sizeof records[next]);
    completed(nullptr, 0, buffer, size, valid);
  }
  records.clear();
  return kCuptiSuccess;
}

CuptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CuptiActivity** record) {
  auto* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + kRecordSize;
  if (next + kRecordSize > buffer + valid) return kCuptiMaxLimitReached;
  *record = reinterpret_cast<CuptiActivity*>(next);
  return kCuptiSuccess;
}

}  // extern "C"
