// RecordingReport: what recorders tell `mneme record`, in memory that they share with it.
//
// `mneme record` creates the report, and the application inherits its file descriptor. The report therefore survives when the
// application is killed, and every process that the application starts adds to it. Counters are atomic. A text is written once,
// by the first process that claims it, and may be read when its `state` is kReady. The empty report is all zeros but its magic.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"

namespace mneme {

// Why a launch was passed through and not recorded.
enum class NotRecorded : uint32_t {
  beyond_max,      // --max launches of the kernel are recorded already
  skipped,         // one of the first launches, which --skip leaves out
  other_kernel,    // --kernels does not match the kernel's name
  excluded,        // --exclude matches the kernel's name
  faster_kernel,   // the kernel is none of the --slowest
  outside_window,  // it is not in the --window
  between,         // it is between two of which --every records the first and the last
  same_shape,      // this and the next two: --distinct, and a launch that is the same in this is recorded already
  same_arguments,
  same_data,
  large_launch,      // it sees more memory than --max-launch-bytes allows
  beyond_bytes,      // it would add more to the database than --max-bytes allows
  no_segment,        // the kernel was not built with the plugin
  ambiguous_names,   // the kernel's IR cannot tell two variables apart
  unknown_kernel,    // the kernel was never registered, but made at run time
  stream_capture,    // the launch goes into a graph
  during_capture,    // a stream is captured into a graph, during which memory cannot be read
  graph_nodes,       // this and the next four: a graph runs it, which holds nodes that are not run one by one,
  graph_condition,   // conditions
  graph_body,        // that it is in the body of,
  graph_memory,      // or allocations,
  graph_untold,      // or of which the driver does not tell all, or gives no parts
  launch_attribute,  // the launch has an attribute that a recording does not hold
  other_device,      // it is on a device that could not be opened for recording
  managed_memory,    // this and the next five: an argument points to memory of a kind that is not captured
  host_memory,
  pool_memory,
  external_memory,
  other_device_memory,
  peer_memory,      // an argument points to recorded memory of another device
  pageable_memory,  // an argument points to memory of the host that no call of the vendor has allocated or registered
  managed_global,   // the kernel reads a __managed__ variable
  textures,         // the kernel may use a texture or surface that cannot be recorded
  other_context,    // its stream is of another context than the current one, or of a green one
  mapped_memory,    // an argument points to memory that the program has mapped at two addresses, or not from a device
  same_names,       // variables of the kernel's image have one name, so that the driver finds one of them alone
  device_heap,      // the kernel allocates or frees memory itself
  device_launch,    // the kernel launches kernels itself
  no_code,          // the code that the device runs is not known, or not how its parameters lie
  parameter_set,    // the launch is by a function of the driver that takes its parameters before, one by one
  concurrent,       // other threads did not stop using the device
  waits_for_host,   // the kernel did not end while the host waited for it
  launch_failed,    // the launch itself failed
  device_lost,      // an earlier launch failed, and the device does nothing more
  damaged_file,     // the kernel's file in the database cannot be read
  ended,            // recording had ended by a failure before
};
inline constexpr size_t kNotRecordedReasons = static_cast<size_t>(NotRecorded::ended) + 1;

// The reason in words, to stand behind "37 launches: ". Example: "its argument points to managed memory, which is not captured
// yet".
std::string_view describe(NotRecorded reason);

// Whether a launch that should have been recorded is lost because something failed. Launches that the options leave out, that
// fail in the program itself, or that recording does not support are not lost.
bool is_lost(NotRecorded reason);

// A text in shared memory that is set once. All zeros is the unset text.
template <size_t N>
struct SharedText {
  static constexpr uint32_t kReady = 2;
  std::atomic<uint32_t> state;  // 0, claimed, kReady
  char text[N];

  // Sets the text, cut to fit. False, and no change, when somebody has set it before.
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
    SharedText<240> kernel;  // the first kernel with a launch that was not recorded for this reason
  };

  uint64_t magic;
  std::atomic<uint64_t> recorders;       // processes into which a recorder was loaded
  std::atomic<uint64_t> launches;        // all launches that were seen
  std::atomic<uint64_t> allocations;     // of device memory and managed memory that the program has made
  std::atomic<uint64_t> shared;          // handles that the recorder has made of memory for other processes (cuIpcGetMemHandle)
  std::atomic<uint64_t> loads;           // images of device code that it has loaded
  std::atomic<uint64_t> untimed;         // those of them that `mneme profile` counts and does not time, made by graphs
  std::atomic<uint64_t> instances;       // instances that were published
  std::atomic<uint64_t> storing;         // instances being published now; after a process was killed, in the database or not
  std::atomic<uint64_t> duplicates;      // launches whose instance the database had already
  std::atomic<uint64_t> new_kernels;     // kernels of which an instance was published, or found in the database
  std::atomic<uint64_t> state_bytes;     // size of the memory before the launch, summed over the published instances
  std::atomic<uint64_t> database_bytes;  // bytes that were added to the database
  std::atomic<uint64_t> copied_bytes;    // changed pages that were copied from devices
  std::atomic<uint64_t> new_page_bytes;  // pages that the database did not have, zeros and variables too, uncompressed
  // Nanoseconds for which the program waited: until devices were opened and the database was, and at its end; and for launches
  // that were recorded in all. Of the latter, for the device to find the pages that have changed, for memory to be pinned, for
  // changed pages to be copied, for their digests, and for memory, since others were not stored yet.
  std::atomic<uint64_t> opening, ending, capturing, hashing, pinning, copying, digesting, waiting;
  std::atomic<uint64_t> committing;  // nanoseconds that a thread took to store launches, while the program went on or waited
  SharedText<1024> failure;          // why recording ended, in the first process where it did
  Reason not_recorded[kNotRecordedReasons];
  // Of those that are counted in new_kernels, by parts of their static hashes; a zero is no kernel's.
  static constexpr size_t kMostKernels = 4096;
  std::atomic<uint64_t> counted_kernels[kMostKernels];

  void count(NotRecorded reason, std::string_view kernel);
  // Counts a kernel in new_kernels, once, whichever processes call it and however often. Of more than kMostKernels those that
  // have no place count with each call.
  void count_kernel(const Digest& static_hash);
  // How many launches are lost (is_lost()). Those that were being stored when a process was killed are not counted.
  uint64_t lost() const;
};

// The mapping of a report. Move-only.
class RecordingReportMapping {
 public:
  // Makes an empty report, behind a new file descriptor that child processes inherit. io: there is no memory for it.
  static Result<RecordingReportMapping> create();
  // Maps the report behind an inherited descriptor. invalid_argument: there is none behind it.
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
