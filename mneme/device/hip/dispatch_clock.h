// DispatchClock: times kernels on an AMD GPU by rocprofiler-sdk's records of their dispatches. A record is matched with its
// launch by the number that the launching thread has pushed (an external correlation id) and by that thread.
//
// A process has at most one, since rocprofiler-sdk is configured once, and before ROCm's runtimes start: later it sees nothing of
// them. Kernels are recorded from start() on, which costs some microseconds a launch; records that nobody asked for are dropped
// as they arrive.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/device/gpu/record_clock.h"
#include "mneme/device/hip/rocprofiler.h"

namespace mneme::hip {

class DispatchClock final : public gpu::RecordClock {
 public:
  // Configures the first of `paths` that opens. To be called before the process's HIP runtime is opened. The clock must stay as
  // long as rocprofiler-sdk may call it, which is until the process ends. unavailable: none opens, it is of a version that is not
  // known, or it refuses.
  static Result<std::unique_ptr<DispatchClock>> configure(const std::vector<std::string>& paths);
  // Records from now on. unavailable: the runtime has not told rocprofiler-sdk of itself.
  Status record();

  // The same for the process's clock. prepare() does nothing where MNEME_CLOCK is event; else the first call counts, and what it
  // has failed with start() says. Thread-safe.
  static void prepare(const std::vector<std::string>& paths);
  // The process's clock, which records from now on, and lives as long as the process. unavailable: prepare() was not called in
  // time or has failed, or the runtime has not told rocprofiler-sdk of itself. Thread-safe.
  static Result<DispatchClock*> start();

  // To be called when the HIP runtime has started: takes back what rocprofiler-sdk has put into the process's environment so that
  // ROCm's runtimes load it when they start. Programs that Mneme starts would load it too. Thread-safe.
  static void runtime_started();

  Status flush() override;

 private:
  explicit DispatchClock(Rocprofiler rocprofiler) : RecordClock("rocprofiler-sdk"), rocprofiler_(std::move(rocprofiler)) {}
  // What rocprofiler-sdk calls.
  static RocprofilerTool* on_configure(uint32_t version, const char* text, uint32_t priority, RocprofilerClient* client);
  static int on_initialize(void (*finalize)(), void* data);
  static void on_finalize(void* data);
  static void on_table(int table, uint64_t version, uint64_t instance, void** tables, uint64_t count, void* data);
  static void on_records(RocprofilerContext context, RocprofilerBuffer buffer, RocprofilerRecordHeader** headers, size_t count,
                         void* data, uint64_t lost);

  Status initialize();
  void read(const RocprofilerDispatchRecord& record);
  void begun(LaunchTag tag) override;
  void ended(LaunchTag tag) override;
  Status flush_by_force() override { return flush(); }
  void dropped(LaunchTag tag) override { threads_.erase(tag); }
  uint64_t this_thread() const;

  const Rocprofiler rocprofiler_;
  RocprofilerTool tool_{};
  RocprofilerContext context_;
  RocprofilerBuffer buffer_;
  // Written by what rocprofiler-sdk calls; mutex() is over them.
  Status initialized_ = Status(Code::unavailable, "rocprofiler-sdk did not call its client");
  bool runtime_seen_ = false, ended_ = false, recording_ = false;
  std::unordered_map<LaunchTag, uint64_t> threads_;  // that make the launch
};

}  // namespace mneme::hip
