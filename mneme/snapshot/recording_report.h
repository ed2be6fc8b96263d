// RecordingReport: what recorders tell `mneme record`, in memory that they share.
//
// `mneme record` creates it and the application inherits its file descriptor, so that all is told even when the application is
// killed, and by every process that the application starts. Counters are atomic; a text is written once, by the first who
// claims it, and may be read when its `state` is kReady. All zeros is the empty report.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

// Why a launch was passed through and not recorded.
enum class NotRecorded : uint32_t {
  beyond_max,        // --max instances of the kernel are recorded
  skipped,           // --skip
  other_kernel,      // --kernels does not match its name
  beyond_bytes,      // --max-bytes
  no_segment,        // not built with the plugin
  ambiguous_names,   // its IR cannot tell two variables apart
  unknown_kernel,    // never registered: made at run time
  stream_capture,    // goes into a graph
  launch_attribute,  // a launch attribute that a recording does not hold
  other_device,      // on a device other than the first one used
  managed_memory,    // an argument points to memory that is not captured yet, by kind
  host_memory,
  pool_memory,
  external_memory,
  other_device_memory,
  managed_global,  // the kernel reads a __managed__ variable
  concurrent,      // other threads did not stop using the device
  waits_for_host,  // the kernel did not end while the host waited for it
  launch_failed,   // the launch itself failed
  device_lost,     // an earlier one had, with all that comes after it
  damaged_file,    // the kernel's file in the database cannot be read
  ended,           // recording had ended by a failure
};
inline constexpr size_t kNotRecordedReasons = static_cast<size_t>(NotRecorded::ended) + 1;

// "its argument points to managed memory, which is not captured yet": to be read behind "37 launches: ".
std::string_view describe(NotRecorded reason);

// Whether it was to be recorded and something failed: by the wish of whoever records, by what the program does, or because it is
// not supported, a launch is not recorded without being lost.
bool is_lost(NotRecorded reason);

// A text that is set once. Trivially zero-initialised.
template <size_t N>
struct SharedText {
  static constexpr uint32_t kReady = 2;
  std::atomic<uint32_t> state;  // 0, claimed, kReady
  char text[N];

  // True for the one who set it.
  bool set(std::string_view value) {
    uint32_t empty = 0;
    if (!state.compare_exchange_strong(empty, 1)) return false;
    size_t size = value.size() < N ? value.size() : N - 1;
    __builtin_memcpy(text, value.data(), size);
    text[size] = 0;
    state.store(kReady, std::memory_order_release);
    return true;
  }
  std::string get() const {
    if (state.load(std::memory_order_acquire) != kReady) return {};
    return std::string(text, strnlen_(text));
  }

 private:
  static size_t strnlen_(const char* from) {
    size_t n = 0;
    while (n < N && from[n] != 0) ++n;
    return n;
  }
};

struct RecordingReport {
  struct Reason {
    std::atomic<uint64_t> launches;
    SharedText<240> kernel;  // the first one it befell
  };

  uint64_t magic;
  std::atomic<uint64_t> recorders;       // processes that a recorder was loaded into
  std::atomic<uint64_t> launches;        // all that were seen
  std::atomic<uint64_t> instances;       // published
  std::atomic<uint64_t> storing;         // being published: in the database or not, where the process has ended meanwhile
  std::atomic<uint64_t> duplicates;      // launches whose instance was in the database
  std::atomic<uint64_t> new_kernels;     // first instances of a kernel
  std::atomic<uint64_t> state_bytes;     // of the memory before each published launch
  std::atomic<uint64_t> database_bytes;  // written
  SharedText<1024> failure;              // what ended recording, of the first process it ended in
  Reason not_recorded[kNotRecordedReasons];

  void count(NotRecorded reason, std::string_view kernel);
  // Launches that were to be recorded and are not. Of those that were being stored when a process ended nothing is known.
  uint64_t lost() const;
};

// The mapping of a report. Move-only.
class RecordingReportMapping {
 public:
  // A report of zeros behind a new file descriptor that child processes inherit.
  static Result<RecordingReportMapping> create();
  // The one behind an inherited descriptor; invalid_argument when it is none.
  static Result<RecordingReportMapping> attach(int descriptor);

  RecordingReport& operator*() const { return *report_; }
  RecordingReport* operator->() const { return report_.get(); }
  int descriptor() const { return descriptor_; }

 private:
  struct Unmap {
    void operator()(RecordingReport* report) const;
  };
  RecordingReportMapping(RecordingReport* report, int descriptor) : report_(report), descriptor_(descriptor) {}
  std::unique_ptr<RecordingReport, Unmap> report_;
  int descriptor_;
};

}  // namespace mneme
