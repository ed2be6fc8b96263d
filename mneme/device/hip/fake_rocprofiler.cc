// rocprofiler-sdk over the HIP runtime of the tests: knows when the runtime starts, notes what a thread has pushed at each
// dispatch, and delivers a record for each kernel when it is flushed.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "mneme/device/hip/fake_hip.h"
#include "mneme/device/hip/rocprofiler.h"

using namespace mneme::hip;

namespace {

RocprofilerTool* tool = nullptr;
RocprofilerTables on_table = nullptr;
void* table_data = nullptr;
RocprofilerRecords on_records = nullptr;
void* records_data = nullptr;
bool service = false, recording = false;
// As the real library's records, longer than what is read of one.
struct Record {
  RocprofilerDispatchRecord read;
  uint64_t behind[16];
};
std::vector<Record> records;
std::map<uint64_t, std::vector<uint64_t>> pushed;  // by thread

FakeRocprofilerState& state() { return fake_hip_state().rocprofiler; }

// Every function begins with this: the scripted failure.
#define ENTER()                         \
  state().calls.emplace_back(__func__); \
  if (state().fail_function == __func__) return std::exchange(state().fail_function, ""), state().fail_status

}  // namespace

namespace mneme::hip {

void fake_rocprofiler_runtime_starts() {
  // As ROCm's runtimes find it.
  if (std::getenv("ROCPROFILER_REGISTER_FORCE_LOAD") == nullptr) return;
  ::setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "0", 0);
  if (state().configured && on_table != nullptr && !state().runtime_started_before)
    on_table(kRocprofilerHsaTable, 1, 0, nullptr, 1, table_data);
}

void fake_dispatch(uint64_t nanoseconds) {
  if (!state().configured || !service || !recording || state().lose_records) return;
  std::vector<uint64_t>& times = state().kernel_times;
  if (!times.empty()) {
    nanoseconds = times.front();
    times.erase(times.begin());
  }
  const uint64_t thread = static_cast<uint64_t>(gettid());
  uint64_t number = 0;
  if (!pushed[thread].empty()) number = pushed[thread].back();
  // A thread that has pushed nothing has the main thread's number.
  else if (!pushed[static_cast<uint64_t>(getpid())].empty())
    number = pushed[static_cast<uint64_t>(getpid())].back();
  Record record{};
  record.read = {state().record_size, kRocprofilerKernelDispatch, 2, 1, {number}, thread, 1000, 1000 + nanoseconds};
  if (state().ends_before_start) record.read.end = 999;
  records.push_back(record);
}

}  // namespace mneme::hip

extern "C" {

const char* rocprofiler_get_status_name(int status) {
  switch (status) {
    case 13: return "ROCPROFILER_STATUS_ERROR_BUFFER_BUSY";
    case 15: return "ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED";
    default: return nullptr;
  }
}

int rocprofiler_force_configure(RocprofilerConfigure configure) {
  ENTER();
  // A test that starts afresh has a library that nobody has configured.
  tool = nullptr, on_table = nullptr, on_records = nullptr, service = recording = false;
  records.clear(), pushed.clear();
  state().configured = true;
  ::setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
  tool = configure(state().version, "fake", 0, nullptr);
  if (tool != nullptr && !state().forget_client) tool->initialize(nullptr, tool->data);
  return 0;
}

int rocprofiler_at_intercept_table_registration(RocprofilerTables callback, int tables, void* data) {
  ENTER();
  if (tables != kRocprofilerHsaTable) return 19;
  on_table = callback;
  table_data = data;
  return 0;
}

int rocprofiler_create_context(RocprofilerContext* context) {
  ENTER();
  if (context->handle != 0) return 13;
  context->handle = 7;
  return 0;
}

int rocprofiler_start_context(RocprofilerContext context) {
  ENTER();
  recording = context.handle == 7;
  return 0;
}

int rocprofiler_create_buffer(RocprofilerContext, size_t, size_t, int policy, RocprofilerRecords callback, void* data,
                              RocprofilerBuffer* buffer) {
  ENTER();
  if (policy != kRocprofilerLossless) return 19;
  on_records = callback;
  records_data = data;
  buffer->handle = 9;
  return 0;
}

int rocprofiler_flush_buffer(RocprofilerBuffer buffer) {
  ENTER();
  if (++state().flushes <= state().records_come_after) return 0;
  std::vector<RocprofilerRecordHeader> headers(records.size() + 1);
  std::vector<RocprofilerRecordHeader*> pointers;
  for (size_t i = 0; i < records.size(); ++i) headers[i] = {kRocprofilerTracing, kRocprofilerKernelDispatch, &records[i]};
  headers.back() = {kRocprofilerTracing, 10, nullptr};  // of a copy
  for (RocprofilerRecordHeader& header : headers) pointers.push_back(&header);
  if (on_records != nullptr) on_records({7}, buffer, pointers.data(), pointers.size(), records_data, 0);
  records.clear();
  return 0;
}

int rocprofiler_query_buffer_tracing_kind_name(uint32_t kind, const char** name, uint64_t* length) {
  ENTER();
  if (kind != kRocprofilerKernelDispatch) return 4;
  *name = state().kind_name.c_str();
  *length = state().kind_name.size();
  return 0;
}

int rocprofiler_configure_buffer_tracing_service(RocprofilerContext context, uint32_t kind, const int32_t* operations,
                                                 size_t count, RocprofilerBuffer buffer) {
  ENTER();
  service =
      context.handle == 7 && kind == kRocprofilerKernelDispatch && operations == nullptr && count == 0 && buffer.handle == 9;
  return service ? 0 : 19;
}

int rocprofiler_get_thread_id(uint64_t* thread) {
  *thread = static_cast<uint64_t>(gettid());
  return 0;
}

int rocprofiler_push_external_correlation_id(RocprofilerContext, uint64_t thread, RocprofilerUserData number) {
  pushed[thread].push_back(number.value);
  return 0;
}

int rocprofiler_pop_external_correlation_id(RocprofilerContext, uint64_t thread, RocprofilerUserData* number) {
  if (pushed[thread].empty()) return 19;
  number->value = pushed[thread].back();
  pushed[thread].pop_back();
  return 0;
}

}  // extern "C"
