// A CUDA driver for tests: a shared library with the functions of driver.h. It has one device, or as many as MNEME_FAKE_DEVICES
// says, whose memory is host memory. They are sm_90, those behind the first one of the major version in MNEME_FAKE_OTHER_MAJOR.
//
// It refuses what the real driver refuses (a wrong granularity, unmapping a part of a mapping, access before cuMemSetAccess),
// and runs Mneme's own memory kernels. Of any other kernel it only notes the launch, and calls the function that a test has given
// for it; one named "trap" makes every later call fail.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mneme::cuda {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  bool cooperative = false;
  unsigned cluster[3] = {};
  std::vector<std::byte> parameters;
};

struct FakeTexture {
  bool surface = false;
  CUDA_RESOURCE_DESC resource{};
  std::vector<std::byte>* texels = nullptr;  // of an array
};

struct FakeDriverState {
  // Makes the next call of `fail_function`, by its exported name (after `fail_after` good ones), return `fail_result`.
  std::string fail_function;
  int fail_after = 0;
  CUresult fail_result = CUDA_SUCCESS;
  // Every call, from then on, after a trap.
  CUresult fault = CUDA_SUCCESS;
  // Launches of kernels and graphs return at once, to measure what stands before the driver.
  bool idle = false;
  // Mneme's own kernels are launched and do nothing.
  bool own_kernels_do_nothing = false;

  std::map<CUlimit, size_t> limits;              // that were set
  std::map<CUdevice_attribute, int> attributes;  // of the device, where they are not as usual
  uint64_t elsewhere_below = 0;                  // reservations smaller than this are not placed at the hint
  uint64_t elsewhere_from = UINT64_MAX;          // nor are those from this hint on
  uint64_t takes_at = 0;  // the first device that is opened maps a page of the host there, if there is room
  // As the real driver, the first cuInit() notes what the process has mapped, and no reservation is placed there, also when it is
  // free again.
  bool initialised = false;
  std::vector<std::pair<uint64_t, uint64_t>> mapped_at_start;  // begin and end
  std::string jit_log;                                         // what the JIT says when cuModuleLoadDataEx fails
  std::map<CUjit_option, uint64_t> jit_options;                // of the last module that was loaded, but for buffers
  uint64_t table_address = 0x1000;                             // of "table", the one variable, of 24 bytes
  int static_shared_bytes = 0;                                 // of every kernel
  std::map<std::string, std::vector<std::pair<size_t, size_t>>> parameters;  // offset and size of each, of kernels by name

  // CUPTI: the times of the next kernels that are not Mneme's own, then of all others; and whether records arrive at all.
  std::vector<uint64_t> kernel_times;
  uint64_t kernel_time = 930;
  bool lose_records = false;
  bool records_by_force_only = false;
  int kernels_end_after = 0;  // flushes: before, a record comes by force only, and then without times
  int flushes = 0;
  uint32_t last_correlation = 0;  // of a launch with its record; the real ones begin anew when all were given

  // NVML.
  unsigned sm_mhz = 1980;
  unsigned long long clock_reasons = 0;
  std::string pci_address;  // that was asked for

  FakeLaunch last_launch;
  std::map<std::string, std::function<void(const FakeLaunch& launch)>> kernels;  // what a launch of one does, by name
  std::map<std::string, std::vector<std::byte>> globals;                         // of every module, beside "table"
  int occupancy_threads = 0;                                                     // that were asked about last
  uint64_t occupancy_shared_bytes = 0;
  int dynamic_shared_limit = 0;  // set by cuFuncSetAttribute
  int large_clusters = 0;        // how often they were allowed, likewise
  int contexts = 0, modules = 0, streams = 0, events = 0, reservations = 0, mappings = 0, allocations = 0, pinned = 0;
  int waits = 0;                             // for streams
  int operations = 0;                        // that streams were given: copies, fills, kernels, events
  std::map<uint64_t, FakeTexture> textures;  // and surfaces, by their handles
  uint64_t first_texture = 77;               // the lowest handle that is given
  int arrays = 0;
  int memory_handles = 0;                   // of cuMemCreate() and imports
  bool late_copies = false;                 // between host and device: done no sooner than they are waited for
  std::set<unsigned long> open_to_signals;  // threads that copied to the device with signals unblocked
  uint64_t host_offset = 0;                 // between a pinned page's two addresses
  CUcontext current = nullptr;              // of the last thread that asked
};

inline constexpr uint64_t kFakeGranularity = 2 << 20;

// For the library's sources: what each function begins with, the state, and the activity record that a launch leaves.
CUresult fake_enter(const char* function);
// Nearly every function takes such a lock: how often that was done tells calls of the driver, whoever makes them.
inline std::atomic<uint64_t> fake_locks = 0;
template <typename Mutex>
struct CountedMutex : Mutex {
  void lock() {
    ++fake_locks;
    Mutex::lock();
  }
};
FakeDriverState& fake_state();
// Whether kernels in the current context reach an address, and whether it lies in mapped memory.
bool fake_reaches(CUdeviceptr address);
// The current context, and how often it was reset: what was loaded into it before is gone.
std::pair<CUcontext, int> fake_context();
// Of the memory that there is (MNEME_FAKE_MEMORY, else 64 GiB), what is free: all is given in whole granules.
size_t fake_memory();
size_t fake_free_memory();
bool fake_is_mapped(CUdeviceptr address);
// The memory of cuMemAlloc() that holds an address. False: none does.
bool fake_allocation(CUdeviceptr address, CUdeviceptr* base, size_t* size);
// The context in which memory was allocated; null: in none, as memory that is mapped.
CUcontext fake_context_of(CUdeviceptr address);
void fake_activity(uint64_t time, bool own);
// What a captured stream is given goes into its graph. False: the stream is not captured.
bool fake_capture_kernel(CUstream stream, const CUDA_KERNEL_NODE_PARAMS& kernel);
// Waits for nodes of the host that run beside the program.
void fake_wait_for_hosts();
bool fake_capture_memory(CUstream stream, CUdeviceptr address, size_t size);

// Exported by the library as "mneme_fake_driver_state". Reset by assigning a fresh value.
using FakeDriverStateFunction = FakeDriverState* (*)();

}  // namespace mneme::cuda
