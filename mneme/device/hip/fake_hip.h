// A HIP runtime for tests: a shared library with the functions of driver.h. It has one device, or as many as it is told, whose
// memory is host memory.
//
// It refuses what the real runtime refuses (a wrong granularity, unmapping a part of a mapping, packed parameters for a
// cooperative launch), and runs Mneme's own memory kernels, one named "add_offsets", and one named "add_texels". Of any other
// kernel it only notes the launch; one named "trap" makes every later call fail. MNEME_FAKE_HIP_PROPERTIES=5.2 in the environment
// is for a program that was compiled with the headers of ROCm 5.2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mneme/device/hip/hip_texture_types.h"
#include "mneme/device/hip/hip_types.h"

namespace mneme::hip {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;  // packed
};

// What an array was asked for with.
struct FakeArrayRequest {
  ChannelDescription channels;
  Extent extent;
  unsigned levels = 0, flags = 0;
};

// What the handle of a texture or a surface points to: descriptors, which kernels read, and what is the runtime's own.
struct FakeImage {
  float* texels = nullptr;
  uint64_t count = 0;
  uint64_t rest[4] = {};
};
struct FakeSampler {
  uint64_t filter = 0, rest[3] = {};
};
struct FakeObject {
  FakeImage image;
  FakeSampler sampler;
  bool surface = false;
  ResourceDescription resource{};
  TextureDescription description;
  std::optional<ViewDescription> view;
};
static_assert(sizeof(FakeImage) == 48 && sizeof(FakeSampler) == 32);

// What the library's rocprofiler-sdk is told (fake_rocprofiler.cc).
struct FakeRocprofilerState {
  std::string fail_function;  // the next call of it returns fail_status
  int fail_status = 0;
  std::vector<std::string> calls;
  bool configured = false;   // by a client of this test's
  uint32_t version = 10000;  // 1.0.0
  std::string kind_name = "KERNEL_DISPATCH";
  bool runtime_started_before = false;  // so that it never hears of the runtime
  bool forget_client = false;           // it configures its client and does not initialise it
  std::vector<uint64_t> kernel_times;   // ns, of the next kernels; then all have 930
  uint64_t record_size = 184;
  bool lose_records = false, ends_before_start = false;
  int flushes = 0, records_come_after = 0;  // flushes that bring nothing
};

struct FakeHipState {
  // Makes the next call of `fail_function` (after `fail_after` good ones) return `fail_error`.
  std::string fail_function;
  int fail_after = 0;
  Error fail_error = 0;
  Error fault = 0;  // every call, from then on, after a trap

  std::vector<std::string> calls;  // in their order, but those that only ask which device is current
  int devices = 1;
  std::string architecture = "gfx90a:sramecc+:xnack-";
  std::string name = "Fake AMD GPU";
  std::map<Attribute, int> attributes;  // of the device, where they are not as usual
  uint64_t granularity = 4096;
  int runtime_version = 70'200'000;  // as hipRuntimeGetVersion has it
  bool mapped_at_start = false;      // whether watched_address was mapped when hipInit was called
  uint64_t watched_address = 0;
  std::vector<std::pair<size_t, size_t>> parameters = {{0, 8}, {8, 4}};  // offset and size of each, of every kernel
  uint64_t host_offset = 0;                                              // between a registered page's two addresses
  bool late_copies = false;  // between host and device: done no sooner than they are waited for

  std::vector<FakeArrayRequest> array_requests;
  int arrays = 0;                       // mipmapped or not
  std::set<const FakeObject*> objects;  // textures and surfaces
  FakeObject* next_object = nullptr;    // where the next one is made; null: anywhere

  FakeRocprofilerState rocprofiler;
  FakeLaunch last_launch;
  std::vector<std::vector<std::byte>> images;  // that were loaded: their first bytes
  int modules = 0, streams = 0, events = 0, reservations = 0, mappings = 0, allocations = 0, pinned = 0, memory_handles = 0;
  int current = 0;  // the device of the thread that asked or set last
};

// Exported by the library as "mneme_fake_hip_state". Reset by assigning a fresh value.
using FakeHipStateFunction = FakeHipState* (*)();

// Within the library.
FakeHipState& fake_hip_state();
// What every function begins with: the call is noted, and fails where that is asked for.
Error fake_hip_enter(const char* function);
// Does the copies that are late (late_copies).
void fake_hip_finish_copies();
// The kernel "add_texels", of which the parameter is a surface: adds one to each texel, which are floats.
void fake_add_texels(const std::vector<std::byte>& parameters);
void fake_rocprofiler_runtime_starts();
void fake_dispatch(uint64_t nanoseconds);

}  // namespace mneme::hip
