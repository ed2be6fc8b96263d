#include "mneme/snapshot/recording_report.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mneme {
namespace {

constexpr uint64_t kMagic = 0x374f5045524d4e4d;  // "MNMREPO7"

RecordingReport* map_report(int descriptor) {
  void* memory = ::mmap(nullptr, sizeof(RecordingReport), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<RecordingReport*>(memory);
}

}  // namespace

std::string_view describe(NotRecorded reason) {
  switch (reason) {
    case NotRecorded::beyond_max: return "the kernel has as many recorded launches as --max allows";
    case NotRecorded::skipped: return "skipped (--skip)";
    case NotRecorded::other_kernel: return "the kernel's name does not match (--kernels)";
    case NotRecorded::excluded: return "the kernel's name matches (--exclude)";
    case NotRecorded::faster_kernel: return "other kernels take more time in all (--slowest)";
    case NotRecorded::outside_window: return "outside of the window (--window)";
    case NotRecorded::between: return "between those that are recorded (--every)";
    case NotRecorded::same_shape: return "a launch of the same shape is recorded already (--distinct shape)";
    case NotRecorded::same_arguments: return "a launch with the same arguments is recorded already (--distinct arguments)";
    case NotRecorded::same_data: return "a launch with the same data is recorded already (--distinct data)";
    case NotRecorded::large_launch: return "the launch sees more memory than allowed (--max-launch-bytes)";
    case NotRecorded::beyond_bytes: return "the database would grow by more than allowed (--max-bytes)";
    case NotRecorded::no_segment: return "the kernel was not built with the plugin (compile it with `mneme config cxxflags`)";
    case NotRecorded::ambiguous_names:
      return "two files of the same name have static variables of the same name (rename one of the files)";
    case NotRecorded::unknown_kernel: return "the kernel was not registered by the program (it was made at run time)";
    case NotRecorded::stream_capture:
      return "launched into a graph: what graphs launch is recorded on NVIDIA GPUs alone, at the driver";
    case NotRecorded::during_capture:
      return "launched while a stream was being captured into a graph, when no memory can be read";
    case NotRecorded::graph_nodes:
      return "in a graph that cannot be run in parts (with waits for others, or run from the device)";
    case NotRecorded::graph_condition: return "in a graph with a condition, where it cannot be run by itself";
    case NotRecorded::graph_body:
      return "in the body of a condition of a graph, counted once for each launch of the graph: how often it runs is known on "
             "the "
             "device alone";
    case NotRecorded::graph_memory: return "in a graph that allocates memory, where it cannot be run by itself";
    case NotRecorded::graph_untold: return "in a graph whose nodes the driver does not tell, or of which it gives no part";
    case NotRecorded::launch_attribute: return "launched with an attribute (such as a cluster) that is not recorded yet";
    case NotRecorded::other_device: return "on a device that could not be opened for recording";
    case NotRecorded::managed_memory:
      return "an argument points to managed memory that host and device may not reach at once, which is not captured";
    case NotRecorded::host_memory: return "an argument points to host memory that could not be captured";
    case NotRecorded::pool_memory: return "an argument points to memory of a pool (cudaMallocAsync), which is not captured yet";
    case NotRecorded::external_memory:
      return "an argument points to memory of another process or interface, which is not captured yet";
    case NotRecorded::other_device_memory: return "an argument points to memory outside of the recorded device and range";
    case NotRecorded::peer_memory: return "an argument points to memory of another device";
    case NotRecorded::pageable_memory:
      return "an argument points to memory of the host (of malloc, the stack or mmap) that the device reaches by itself, which "
             "is "
             "not captured (cudaMallocManaged or cudaHostAlloc gives memory that is)";
    case NotRecorded::managed_global: return "the kernel reads a __managed__ variable, which is not captured yet";
    case NotRecorded::textures: return "the kernel uses a texture or surface of a kind, or of memory, that is not captured";
    case NotRecorded::other_context: return "in a green context, or through a stream of a context that was not current";
    case NotRecorded::mapped_memory:
      return "an argument points to memory that is mapped at two addresses or is not on the device (cuMemMap), which is not "
             "captured";
    case NotRecorded::same_names:
      return "static variables of several files have one name, of which the driver finds one alone (rename one of them)";
    case NotRecorded::device_heap: return "the kernel allocates memory itself (malloc in device code), which is not captured";
    case NotRecorded::device_launch:
      return "the kernel launches kernels itself (dynamic parallelism), which is recorded of machine code alone";
    case NotRecorded::no_code: return "the code that the device runs, or how its parameters lie, cannot be told";
    case NotRecorded::parameter_set: return "launched by a function that older programs use (cuLaunch), which is not recorded";
    case NotRecorded::concurrent: return "other threads were using the device at the same time";
    case NotRecorded::waits_for_host: return "the kernel, or one before it, did not end for long, as if it waited for the host";
    case NotRecorded::launch_failed: return "the launch itself failed";
    case NotRecorded::device_lost: return "an earlier launch failed, after which the program's device does nothing more";
    case NotRecorded::damaged_file:
      return "the kernel's file in the database cannot be read (remove it, or name another directory with -rdb)";
    case NotRecorded::ended: return "recording had ended";
  }
  return "";
}

bool is_lost(NotRecorded reason) {
  return reason == NotRecorded::concurrent || reason == NotRecorded::waits_for_host || reason == NotRecorded::damaged_file ||
         reason == NotRecorded::ended;
}

uint64_t RecordingReport::lost() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kNotRecordedReasons; ++i)
    if (is_lost(static_cast<NotRecorded>(i))) sum += not_recorded[i].launches;
  return sum;
}

void RecordingReport::count(NotRecorded reason, std::string_view kernel) {
  Reason& entry = not_recorded[static_cast<size_t>(reason)];
  if (entry.launches.fetch_add(1, std::memory_order_relaxed) == 0) entry.kernel.set(kernel);
}

void RecordingReport::count_kernel(const Digest& static_hash) {
  const uint64_t kernel = std::hash<Digest>()(static_hash) | 1;
  for (size_t i = 0; i < kMostKernels; ++i) {
    uint64_t found = 0;
    if (counted_kernels[(kernel / 2 + i) % kMostKernels].compare_exchange_strong(found, kernel)) break;
    if (found == kernel) return;
  }
  ++new_kernels;
}

void RecordingReportMapping::Unmap::operator()(RecordingReport* report) const { ::munmap(report, sizeof(RecordingReport)); }

Result<RecordingReportMapping> RecordingReportMapping::create() {
  int descriptor = ::memfd_create("mneme-recording-report", 0);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(RecordingReport)) != 0)
    return error(Code::io, "making shared memory for the report of the recording: {}", std::strerror(errno));
  RecordingReport* report = map_report(descriptor);
  if (!report) return error(Code::io, "mapping the report of the recording: {}", std::strerror(errno));
  report->magic = kMagic;
  return RecordingReportMapping(report, descriptor);
}

Result<RecordingReportMapping> RecordingReportMapping::attach(int descriptor) {
  struct stat info;
  bool fits =
      descriptor >= 0 && ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == sizeof(RecordingReport);
  RecordingReport* report = fits ? map_report(descriptor) : nullptr;
  if (report && report->magic == kMagic) return RecordingReportMapping(report, descriptor);
  if (report) ::munmap(report, sizeof(RecordingReport));
  return error(Code::invalid_argument, "file descriptor {} is no report of a recording", descriptor);
}

}  // namespace mneme
