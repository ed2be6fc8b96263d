// The recorder from the program's side: through the slots of its call table.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "mneme/base/descriptor.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ByteVector region_bytes(const Database& database, const Region& region) {
  ByteVector bytes(region.size.count);
  std::vector<PageRequest> requests;
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    MemoryRange extent = page_extent(region.range(), i);
    requests.push_back(
        {region.pages[i], MutableByteSpan(bytes).subspan((extent.address - region.address).count, extent.size.count)});
  }
  Status status = database.read_pages(requests);
  EXPECT_TRUE(status.ok()) << status.message();
  return bytes;
}

std::vector<int> ints_of(const Database& database, const Region& region) {
  ByteVector bytes = region_bytes(database, region);
  std::vector<int> ints(bytes.size() / sizeof(int));
  std::memcpy(ints.data(), bytes.data(), ints.size() * sizeof(int));
  return ints;
}

RecordingOptions profiling(uint64_t max) {
  RecordingOptions options;
  options.profile = true;
  options.max = max;
  return options;
}

TEST(RecordProfile, KeepsTheTimesOfLaunchesThatAreNotRecordedBesideThoseThatAre) {
  FakeProgram program(profiling(2));
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  recorder()->finish();
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 2u);
  for (const InstanceRecord& instance : instances) {
    ASSERT_TRUE(instance.recorded_time.has_value());
    const RecordedTime& time = *instance.recorded_time;
    EXPECT_EQ(time.clock_source, "steady_clock");
    EXPECT_EQ(time.others, 7u);  // all but the two, and the one after them, which finds their memory in the caches
    EXPECT_GT(time.others_min, 0);
    EXPECT_GE(time.others_median, time.others_min);
    EXPECT_EQ(time.reference(), time.others_median);
  }
  // Of the first launch of all the time would be that of loading its code, too.
  EXPECT_FALSE(instances[0].recorded_time->captured && instances[1].recorded_time->captured);
  EXPECT_TRUE(instances[0].recorded_time->captured || instances[1].recorded_time->captured);
}

TEST(RecordProfile, OtherShapesAndOtherKernelsAreTimedApart) {
  FakeProgram program(profiling(1));
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
    EXPECT_EQ(program.launch(program.add_table, data), cudaSuccess);
    EXPECT_EQ(program.launch(program.plain, data), cudaSuccess);
  }
  recorder()->finish();
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 2u);
  EXPECT_EQ(instances[0].recorded_time->others, 2u);  // its second one comes right after a recorded launch
  EXPECT_EQ(instances[1].recorded_time->others, 3u);
}

TEST(RecordProfile, AnInstanceThatIsThereGetsItsTimeLater) {
  const TemporaryDirectory temporary;
  const Path& folder = temporary.path();
  for (bool profile : {false, true}) {
    RecordingOptions options = profiling(1);
    options.profile = profile;
    options.database = folder / "db";
    FakeProgram program(options);
    int* data = program.allocate<int>(100);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
    recorder()->finish();
    auto listing = Database::open(options.database)->list();
    ASSERT_TRUE(listing.ok());
    ASSERT_EQ(listing->kernels.size(), 1u);
    ASSERT_EQ(listing->kernels[0].instances.size(), 1u);
    EXPECT_EQ(listing->kernels[0].instances[0].recorded_time.has_value(), profile);
  }
}

TEST(RecordProfile, LaunchesThatFailHaveNoTime) {
  FakeProgram program(profiling(1));
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  program.vendor().kernels[program.increment] = [](void**) { return cudaErrorLaunchFailure; };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaErrorLaunchFailure);
  recorder()->finish();
  EXPECT_EQ(program.instances()[0].recorded_time->others, 1u);
}

// For a program that does not come to its end.
TEST(RecordProfile, WhatIsKnownIsKeptWithEachInstance) {
  FakeProgram program(profiling(2));
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), 2u);
  EXPECT_NE(instances[0].recorded_time.has_value(), instances[1].recorded_time.has_value()) << "of all but the first launch";
}

TEST(RecordProfile, AResetKeepsTheTimes) {
  FakeProgram program(profiling(1));
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  ASSERT_TRUE(program.instances()[0].recorded_time.has_value());
  EXPECT_EQ(program.instances()[0].recorded_time->others, 2u);
}

TEST(RecordProfile, ALaunchThatWasGivenUpIsNoCauseForAWarning) {
  FakeProgram program(profiling(3));
  int* data = program.allocate<int>(100);
  const auto body = program.vendor().kernels[program.increment];
  for (int i = 0; i < 4; ++i) {
    program.vendor().kernels[program.increment] = body;
    if (i == 1)  // accepted, and not ended well
      program.vendor().kernels[program.increment] = [&](void** arguments) {
        program.vendor().fault = cudaErrorLaunchTimeout;
        return body(arguments);
      };
    EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
    program.vendor().fault = cudaSuccess;
  }
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 1u);
  ::testing::internal::CaptureStderr();
  recorder()->finish();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Record, CapturesWhatALaunchSeesAndLeavesBehind) {
  FakeProgram program(with_all_memory());
  constexpr int kCount = 50'000;  // several pages
  int* other = program.allocate<int>(3);
  int* data = program.allocate<int>(kCount);
  ASSERT_EQ(reinterpret_cast<uint64_t>(other), kDefaultAddressSpaceBase.address);
  for (int i = 0; i < kCount; ++i) data[i] = i;
  other[0] = 42;
  EXPECT_EQ(program.launch(program.increment, data, kCount), cudaSuccess);
  EXPECT_EQ(data[7], 8);

  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  const InstanceRecord& instance = instances[0];
  EXPECT_EQ(instance.block, (Dim3{32, 1, 1}));
  EXPECT_EQ(instance.space_base, kDefaultAddressSpaceBase);
  EXPECT_EQ(instance.state_bytes, Bytes(12 + kCount * sizeof(int)));
  int* pointer = nullptr;
  ASSERT_EQ(instance.parameters.size(), 12u);
  std::memcpy(&pointer, instance.parameters.data(), sizeof pointer);
  EXPECT_EQ(pointer, data);

  auto database = *Database::open(program.database());
  EXPECT_EQ(database.load_kernel(instance.static_hash)->name, "increment");
  EXPECT_EQ(*database.load_ir(instance.static_hash), bytes_of("bitcode"));
  auto recorded = *database.load_instance(instance.static_hash, instance.dynamic_hash);
  ASSERT_EQ(recorded.prologue.regions.size(), 2u);
  EXPECT_THAT(ints_of(database, recorded.prologue.regions[0]), ElementsAre(42, 0, 0));
  EXPECT_EQ(ints_of(database, recorded.prologue.regions[1])[7], 7);
  EXPECT_EQ(ints_of(database, recorded.epilogue.regions[1])[7], 8);
  EXPECT_EQ(recorded.prologue.regions[0].pages, recorded.epilogue.regions[0].pages);
  EXPECT_EQ(program.free(data), cudaSuccess);
  EXPECT_EQ(program.free(data), cudaErrorInvalidValue);
}

TEST(Record, KeepsHowItWasLaunched) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int n = 1;
  void* arguments[] = {&data, &n};
  for (mneme_call slot : {MNEME_CALL_cudaLaunchKernel, MNEME_CALL_cudaLaunchCooperativeKernel})
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(slot, program.increment, dim3(2, 3, 4), dim3(5, 6, 7),
                                                       static_cast<void**>(arguments), size_t{128}, cudaStream_t{}),
              cudaSuccess);
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), 2u);
  for (const InstanceRecord& instance : instances) {
    EXPECT_EQ(instance.grid, (Dim3{2, 3, 4}));
    EXPECT_EQ(instance.block, (Dim3{5, 6, 7}));
    EXPECT_EQ(instance.dynamic_shared_memory, Bytes(128));
    EXPECT_EQ(instance.device_kind, "fake");
    EXPECT_EQ(instance.device_name, fake::FakeDevice::default_properties().name);
    EXPECT_EQ(instance.space_base, kDefaultAddressSpaceBase);
    EXPECT_EQ(instance.space_size, 64_MiB);
    EXPECT_EQ(instance.mneme_version, MNEME_VERSION);
    EXPECT_THAT(instance.recorded_at, ::testing::MatchesRegex("20[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+Z"));
  }
  EXPECT_FALSE(instances[0].cooperative);
  EXPECT_TRUE(instances[1].cooperative);
}

TEST(Record, ReportsWhatItHasAddedInAll) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  uint64_t states = 0;
  for (int i = 1; i <= 3; ++i) {
    program.launch(program.increment, data, 1);
    program.allocate<int>(1000);
    states = 0;
    for (const InstanceRecord& instance : program.instances()) states += instance.state_bytes.count;
    EXPECT_EQ(program.report().instances, static_cast<uint64_t>(i));
    EXPECT_EQ(program.report().state_bytes, states);
    EXPECT_EQ(Bytes(program.report().database_bytes), *Database::open(program.database())->disk_size());
  }
}

TEST(Record, CapturesGlobalsByTheirNameInTheIr) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.table[3] = 5;  // as the host would by cudaMemcpyToSymbol
  program.launch(program.add_table, data);
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  auto database = *Database::open(program.database());
  EXPECT_EQ(database.load_kernel(instances[0].static_hash)->globals[0].name, "table");
  auto recorded = *database.load_instance(instances[0].static_hash, instances[0].dynamic_hash);
  auto global = std::find_if(recorded.prologue.regions.begin(), recorded.prologue.regions.end(),
                             [](const Region& r) { return r.kind == Region::Kind::global; });
  ASSERT_NE(global, recorded.prologue.regions.end());
  EXPECT_EQ(global->name, "table");
  EXPECT_EQ(global->address.address, reinterpret_cast<uint64_t>(program.table));
  EXPECT_EQ(ints_of(database, *global)[3], 5);
  EXPECT_EQ(ints_of(database, recorded.epilogue.regions[static_cast<size_t>(global - recorded.prologue.regions.begin())])[3], 6);
}

// No code of the kernel names it.
TEST(Record, AVariableThatAnArgumentPointsIntoIsCaptured) {
  FakeProgram program;
  program.allocate<int>(16);
  const auto captured = [&](int* data, int n) {
    EXPECT_EQ(program.launch(program.increment, data, n), cudaSuccess);
    auto instances = program.instances();
    auto database = *Database::open(program.database());
    auto recorded = *database.load_instance(instances.back().static_hash, instances.back().dynamic_hash);
    return std::any_of(recorded.prologue.regions.begin(), recorded.prologue.regions.end(),
                       [&](const Region& r) { return r.address.address == reinterpret_cast<uint64_t>(program.table); });
  };
  EXPECT_TRUE(captured(program.table, 1));
  EXPECT_TRUE(captured(program.table + 15, 1)) << "its last element";
  EXPECT_FALSE(captured(program.table + 16, 0)) << "what lies behind it";
}

TEST(Record, TheEpilogueIsReadWhenTheKernelHasEnded) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  auto body = program.vendor().kernels[program.increment];
  // As on a GPU: the launch returns at once, and the work is done when the device is waited for.
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    int* where = *static_cast<int**>(arguments[0]);
    int count = *static_cast<int*>(arguments[1]);
    program.vendor().pending = [&body, where, count]() mutable {
      void* own[] = {&where, &count};
      body(own);
    };
    return cudaSuccess;
  };
  EXPECT_EQ(program.launch(program.increment, data, 16), cudaSuccess);
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  auto database = *Database::open(program.database());
  auto recorded = *database.load_instance(instances[0].static_hash, instances[0].dynamic_hash);
  EXPECT_EQ(ints_of(database, recorded.prologue.regions[0]), std::vector<int>(16, 0));
  EXPECT_EQ(ints_of(database, recorded.epilogue.regions[0]), std::vector<int>(16, 1));
}

TEST(Record, TwoNamesOfOneVariableAreOneRegion) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.table[3] = 5;
  EXPECT_EQ(program.launch(program.two_names, data), cudaSuccess);
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  auto database = *Database::open(program.database());
  auto recorded = *database.load_instance(instances[0].static_hash, instances[0].dynamic_hash);
  for (const MemoryState* state : {&recorded.prologue, &recorded.epilogue}) {
    std::vector<Region> globals;
    std::copy_if(state->regions.begin(), state->regions.end(), std::back_inserter(globals),
                 [](const Region& region) { return region.kind == Region::Kind::global; });
    ASSERT_EQ(globals.size(), 1u);
    EXPECT_EQ(globals[0].address.address, reinterpret_cast<uint64_t>(program.table));
    EXPECT_EQ(ints_of(database, globals[0])[3], 5);
  }
}

TEST(Record, OnlyChangedPagesAreReadAgain) {
  FakeProgram program;
  constexpr size_t kPages = 200;
  char* data = program.allocate<char>(kPages * kPageSize.count);
  std::fill_n(data, kPages * kPageSize.count, 1);
  auto copies = [&] { return program.report().copied_bytes / kPageSize.count; };
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  const uint64_t first = copies();
  EXPECT_EQ(first, kPages + 1);  // and the one page that the kernel changed
  data[100 * kPageSize.count] = 2;
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_EQ(copies() - first, 2);
  EXPECT_EQ(program.instances().size(), 2u);
  // Of many pages the contents are the same: the 2 makes of its page what the kernel had made of the first one.
  EXPECT_EQ(program.report().new_page_bytes, 3 * kPageSize.count);
}

TEST(Record, PagesOfZerosAreNotCopied) {
  FakeProgram program;
  constexpr size_t kPages = 40;
  char* data = program.allocate<char>(kPages * kPageSize.count);
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_EQ(program.report().copied_bytes, kPageSize.count);  // the one that the kernel changed
  ASSERT_EQ(program.instances().size(), 1u);
  // Also those that become zeros again.
  std::memset(data, 0, kPageSize.count);
  program.launch(program.increment, reinterpret_cast<int*>(data), 0);
  EXPECT_EQ(program.report().copied_bytes, kPageSize.count);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Record, WithoutMemoryToFindOutHowZerosAreHashedTheyAreCopied) {
  FakeProgram program;
  program.failures = [](std::string_view call) { return call == "allocate" ? error(Code::exhausted, "no memory") : Status(); };
  constexpr size_t kPages = 40;
  char* data = program.allocate<char>(kPages * kPageSize.count);
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_EQ(program.report().copied_bytes, (kPages + 1) * kPageSize.count);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, EqualLaunchesAreStoredOnce) {
  FakeProgram program;
  int* data = program.allocate<int>(10);
  program.launch(program.increment, data, 0);
  program.launch(program.increment, data, 0);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.report().duplicates, 1u);
  EXPECT_EQ(program.report().instances, 1u);
  EXPECT_EQ(program.report().storing, 0u);
  EXPECT_EQ(program.report().new_kernels, 1u);
  program.launch(program.increment, data, 5);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Record, MaxAndSkipCountLaunchesOfEachKernel) {
  RecordingOptions options;
  options.skip = 1;
  options.max = 2;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  for (int i = 0; i < 5; ++i) program.launch(program.increment, data, 10);
  for (int i = 0; i < 2; ++i) program.launch(program.add_table, data);
  EXPECT_EQ(program.instances().size(), 3u);
  EXPECT_EQ(program.count(NotRecorded::skipped), 2u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 2u);
  EXPECT_EQ(program.report().launches, 7u);
  EXPECT_EQ(data[15], 1);  // all launches happened
}

TEST(Record, KernelsAreSelectedByName) {
  RecordingOptions options;
  options.kernels = "^incr";
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  program.launch(program.add_table, data);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::other_kernel), 1u);
}

TEST(Record, KernelsAreSelectedByTheirMangledNameToo) {
  static const char kernel[] = "_Z5scalePii", other[] = "_Z5countPii";
  for (const char* expression : {"^_Z5scale", "^scale\\(int\\*"}) {
    RecordingOptions options;
    options.kernels = expression;
    FakeProgram program(options);
    int* data = program.allocate<int>(16);
    program.add_image({program.segment(kernel, {}), program.segment(other, {})}, {kernel, other});
    for (const char* stub : {kernel, other}) {
      program.vendor().kernels[stub] = [](void**) { return cudaSuccess; };
      EXPECT_EQ(program.launch(stub, data), cudaSuccess);
    }
    EXPECT_EQ(program.instances().size(), 1u) << expression;
    EXPECT_EQ(program.count(NotRecorded::other_kernel), 1u) << expression;
  }
}

// As of a template that two files use.
TEST(Record, TheLimitsAreOfAKernelWhereverItIsRegistered) {
  static const char kernel[] = "twice", same[] = "twice";
  RecordingOptions options;
  options.max = 1;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  const ByteVector segment = program.segment("twice", {});
  for (const char* stub : {&kernel[0], &same[0]}) {
    program.add_image({segment}, {stub});
    program.vendor().kernels[stub] = program.vendor().kernels[program.increment];
    EXPECT_EQ(program.launch(stub, data, 1), cudaSuccess);
  }
  ASSERT_NE(static_cast<const void*>(kernel), static_cast<const void*>(same));
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 1u);
}

// The code that the program runs is that of its device.
TEST(Record, OfTheCodeOfAnImageThatOfTheDeviceIsRecorded) {
  static const char kernel[] = "of two architectures";
  FakeProgram program({}, [](Recorder::Environment& environment) {
    environment.open_device = [](DeviceKind, int) -> Result<std::unique_ptr<Device>> {
      DeviceProperties properties = fake::FakeDevice::default_properties();
      properties.architecture = "sm_80";
      return std::unique_ptr<Device>(std::make_unique<fake::FakeDevice>(properties));
    };
  });
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  TestSegment older, newer;
  older.name = newer.name = kernel;
  older.parameters = newer.parameters = {{MNEME_PARAM_POINTER, 0, 8, "data"}};
  older.parameter_bytes = newer.parameter_bytes = 8;
  older.hash = 80;
  newer.hash = 90;
  program.add_fat_binary(make_fat_binary({{2, 80, make_device_elf({older.build()})}, {2, 90, make_device_elf({newer.build()})}}),
                         {kernel});
  EXPECT_EQ(program.launch(kernel, program.allocate<int>(16)), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.instances()[0].static_hash.bytes[0], 80);
}

// Wherever it stands among the arguments.
TEST(Record, APointerInTheLastArgumentIsOne) {
  static const char kernel[] = "last pointer";
  FakeProgram program(with_all_memory());
  int* own = program.allocate<int>(16);
  TestSegment segment;
  segment.name = kernel;
  segment.parameters = {{MNEME_PARAM_INTEGER, 0, 8, "n"}, {MNEME_PARAM_POINTER, 8, 8, "data"}};
  segment.parameter_bytes = 16;
  segment.hash = 200;
  TestSegment other;
  other.name = "somebody";
  other.globals = {{"table.file", 64, 0, "table"}};
  program.add_image({segment.build(), other.build()}, {kernel});
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  uint64_t n = 0;
  const auto launch = [&](void* data) {
    void* arguments[] = {&n, &data};
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, kernel, dim3(1), dim3(1),
                                                       static_cast<void**>(arguments), size_t{0}, cudaStream_t{}),
              cudaSuccess);
  };
  void* managed = nullptr;
  program.end_in(MNEME_TABLE_CUDA);
  program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{64}, 1u);
  program.end_in(MNEME_TABLE_CPU);
  launch(managed);
  EXPECT_EQ(program.count(NotRecorded::managed_memory), 1u);
  launch(program.table);
  launch(own);
  const auto database = *Database::open(program.database());
  std::vector<size_t> regions;
  for (const InstanceRecord& instance : program.instances())
    regions.push_back(database.load_instance(instance.static_hash, instance.dynamic_hash)->prologue.regions.size());
  EXPECT_THAT(regions, ElementsAre(2, 1)) << "with the variable that it points into";
}

// Its address may stand in memory, as one kernel's code says, and another's does not.
TEST(Record, AVariableThatEscapesAnywhereIsCapturedForEveryKernel) {
  static const char kernel[] = "sees by pointer";
  static int escaping[4], managed[4], seen[4];
  FakeProgram program;
  int* data = program.allocate<int>(16);
  for (auto& [name, memory] : {std::pair("escaping", &escaping), {"managed", &managed}, {"seen", &seen}})
    program.vendor().globals[name] = {*memory, sizeof *memory};
  program.add_image({program.segment("one", {{"escaping", 16, 0}, {"seen", 16, 0}}),
                     program.segment("two", {{"escaping", 16, MNEME_GLOBAL_ESCAPES},
                                             {"managed", 16, MNEME_GLOBAL_ESCAPES | MNEME_GLOBAL_MANAGED}}),
                     program.segment("three", {{"escaping", 16, 0}}), program.segment(kernel, {})},
                    {kernel});
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  EXPECT_EQ(program.launch(kernel, data), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  const InstanceRecord instance = program.instances()[0];
  const auto recorded = *Database::open(program.database())->load_instance(instance.static_hash, instance.dynamic_hash);
  std::vector<std::string> names;
  for (const Region& region : recorded.prologue.regions)
    if (region.kind == Region::Kind::global) names.push_back(region.name);
  EXPECT_THAT(names, ElementsAre("escaping"));
}

// Without an emulation the vendor is asked, by the variable that the program registered under the name.
TEST(Record, VariablesAreFoundByTheirOwnNames) {
  static const char kernel[] = "reads the second";
  static int first[4], second[4], first_shadow[4], second_shadow[4];
  FakeProgram program;
  program.call_table().find_global = nullptr;
  int* data = program.allocate<int>(16);
  void** image = program.add_image({program.segment(kernel, {{"second", sizeof second}})}, {kernel});
  program.add_variable(image, first_shadow, "first", sizeof first);
  program.add_variable(image, second_shadow, "second", sizeof second);
  program.vendor().symbols[first_shadow] = {first, sizeof first};
  program.vendor().symbols[second_shadow] = {second, sizeof second};
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  EXPECT_EQ(program.launch(kernel, data), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  const InstanceRecord instance = program.instances()[0];
  const auto recorded = *Database::open(program.database())->load_instance(instance.static_hash, instance.dynamic_hash);
  EXPECT_TRUE(std::any_of(recorded.prologue.regions.begin(), recorded.prologue.regions.end(), [](const Region& region) {
    return region.name == "second" && region.address.address == reinterpret_cast<uint64_t>(second);
  }));
}

TEST(Record, MaxBytesEndsWithTheLastWholeInstance) {
  RecordingOptions options = with_all_memory();
  options.max_bytes = 200_KiB;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 1);
  auto* noise = program.allocate<uint32_t>(100'000);
  for (uint32_t i = 0; i < 100'000; ++i) noise[i] = i * 2654435761u ^ (i * i * 40503u << 7);
  program.launch(program.increment, data, 1);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::beyond_bytes), 2u);
  EXPECT_EQ(data[0], 3);
  EXPECT_EQ(program.report().failure.get(), "");
  program.free(noise);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Record, MaxBytesIsOfAllInstancesTogether) {
  RecordingOptions options;
  options.max_bytes = 1_MiB;
  FakeProgram program(options);
  auto* noise = program.allocate<uint32_t>(100'000);
  uint32_t state = 1;
  for (int launch = 0; launch < 4; ++launch) {
    for (uint32_t i = 0; i < 100'000; ++i) noise[i] = state = (state * 1664525u + 1013904223u) ^ (state >> 13);
    program.launch(program.increment, reinterpret_cast<int*>(noise), 1);
  }
  EXPECT_EQ(program.instances().size(), 2u) << "400 KB each";
  EXPECT_EQ(program.count(NotRecorded::beyond_bytes), 2u);
  EXPECT_LE(*Database::open(program.database())->disk_size(), 1_MiB);
}

TEST(Record, ReasonsOfWhatIsPassedThrough) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  void* managed = nullptr;
  program.end_in(MNEME_TABLE_CUDA);
  program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{64}, 1u);
  program.end_in(MNEME_TABLE_CPU);

  EXPECT_EQ(program.launch(program.plain, data), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::no_segment), 1u);
  EXPECT_EQ(program.launch(program.managed_reader, data), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::managed_global), 1u);
  EXPECT_EQ(program.launch(program.texture_reader, data), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::textures), 1u);
  EXPECT_EQ(program.launch(program.heap_user, data), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::device_heap), 1u);
  EXPECT_EQ(program.launch(program.launcher, data), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::device_launch), 1u);
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(managed) + 3, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::managed_memory), 1u);

  program.vendor().device = kMostAddressSpaces;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::other_device), 1u);
  int* elsewhere = program.allocate<int>(16);
  EXPECT_TRUE(program.vendor().allocations.contains(elsewhere));
  program.vendor().device = 0;
  EXPECT_EQ(program.launch(program.increment, elsewhere, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 1u);
  EXPECT_EQ(program.free(elsewhere), cudaSuccess);

  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = configuration.blockDim = dim3(1);
  configuration.attrs = &cluster;
  configuration.numAttrs = 1;
  int n = 1;
  void* arguments[] = {&data, &n};
  auto extended = [&] {
    return program.call<decltype(cudaLaunchKernelExC)>(MNEME_CALL_cudaLaunchKernelExC, &configuration, program.increment,
                                                       static_cast<void**>(arguments));
  };
  EXPECT_EQ(extended(), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::launch_attribute), 1u);
  EXPECT_TRUE(program.instances().empty());
  cluster.id = cudaLaunchAttributeCooperative;
  cluster.val.cooperative = 1;
  EXPECT_EQ(extended(), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_TRUE(program.instances()[0].cooperative);
}

// Where the host reaches the device's memory.
TEST(Record, ManagedMemoryIsMemoryAsAnyOtherOnTheCpuDevice) {
  FakeProgram program;
  void* managed = nullptr;
  const auto type = [&](const void* pointer) {
    cudaPointerAttributes attributes{};
    program.call<decltype(cudaPointerGetAttributes)>(MNEME_CALL_cudaPointerGetAttributes, &attributes, pointer);
    return attributes.type;
  };
  ASSERT_EQ(program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{64}, 1u), cudaSuccess);
  EXPECT_EQ(type(static_cast<int*>(managed) + 3), cudaMemoryTypeManaged);
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(managed) + 3, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.free(managed), cudaSuccess);
  int* same = program.allocate<int>(16);
  ASSERT_EQ(same, managed);
  EXPECT_EQ(type(same), cudaMemoryTypeDevice) << "another allocation in its place";
  program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{0}, 1u);
  EXPECT_TRUE(program.vendor().allocations.contains(managed)) << "what is not valid is the vendor's to refuse";
}

// A GPU has it where the vendor has put it.
TEST(Record, ManagedMemoryOfAGpuIsRecordedWhereItLies) {
  FakeProgram program;
  program.vendor().shares_managed = true;
  void* managed = nullptr;
  program.end_in(MNEME_TABLE_CUDA);
  ASSERT_EQ(program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{64}, 1u), cudaSuccess);
  program.end_in(MNEME_TABLE_CPU);
  std::memset(managed, 0, 64);
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(managed) + 3, 1), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  const auto memory = Database::open(program.database())->load_memory(program.instances()[0]);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(memory->prologue.regions.size(), 1u);
  EXPECT_EQ(memory->prologue.regions[0].kind, Region::Kind::managed);
  EXPECT_EQ(memory->prologue.regions[0].range(), (MemoryRange{DevicePtr(reinterpret_cast<uint64_t>(managed)), Bytes(64)}));
  EXPECT_NE(memory->prologue.regions[0].pages, memory->epilogue.regions[0].pages);
  EXPECT_EQ(program.free(managed), cudaSuccess);
  EXPECT_FALSE(program.vendor().allocations.contains(managed));
}

// Where memory lay that is not captured may come to lie what is.
TEST(Record, MemoryThatWasGivenBackIsForgotten) {
  RecordingOptions options;
  options.max = 100;
  FakeProgram program(options);
  program.allocate<int>(16);
  alignas(4096) static int memory[1024];
  program.vendor().foreign = memory;
  void* out = nullptr;
  const auto pool = [&](mneme_call slot) { program.call<decltype(cudaMallocAsync)>(slot, &out, sizeof memory, cudaStream_t{}); };
  const auto any_pool = [&](mneme_call slot) {
    program.call<decltype(cudaMallocFromPoolAsync)>(slot, &out, sizeof memory, cudaMemPool_t{}, cudaStream_t{});
  };
  const auto free_async = [&](mneme_call slot) { program.call<decltype(cudaFreeAsync)>(slot, out, cudaStream_t{}); };
  const auto free_any = [&](mneme_call slot) { program.call<decltype(cudaFree)>(slot, out); };
  const auto open_ipc = [&](mneme_call slot) {
    program.call<decltype(cudaIpcOpenMemHandle)>(slot, &out, cudaIpcMemHandle_t{}, cudaIpcMemLazyEnablePeerAccess);
  };
  const auto map_buffer = [&](mneme_call slot) {
    const cudaExternalMemoryBufferDesc description{.offset = 0, .size = sizeof memory, .flags = 0, .reserved = {}};
    program.call<decltype(cudaExternalMemoryGetMappedBuffer)>(slot, &out, cudaExternalMemory_t{}, &description);
  };
  const auto map_graphics = [&](mneme_call slot) {
    size_t size = 0;
    program.call<decltype(cudaGraphicsResourceGetMappedPointer)>(slot, &out, &size, cudaGraphicsResource_t{});
  };
  struct Way {
    mneme_call get;
    std::function<void(mneme_call)> gets;
    mneme_call give_back;
    std::function<void(mneme_call)> gives_back;
    NotRecorded reason;
  };
  const std::vector<Way> ways = {
      {MNEME_CALL_cudaMallocAsync, pool, MNEME_CALL_cudaFreeAsync, free_async, NotRecorded::pool_memory},
      {MNEME_CALL_cudaMallocAsync_ptsz, pool, MNEME_CALL_cudaFreeAsync_ptsz, free_async, NotRecorded::pool_memory},
      {MNEME_CALL_cudaMallocFromPoolAsync, any_pool, MNEME_CALL_cudaFreeAsync, free_async, NotRecorded::pool_memory},
      {MNEME_CALL_cudaMallocFromPoolAsync_ptsz, any_pool, MNEME_CALL_cudaFree, free_any, NotRecorded::pool_memory},
      {MNEME_CALL_cudaIpcOpenMemHandle, open_ipc, MNEME_CALL_cudaIpcCloseMemHandle, free_any, NotRecorded::external_memory},
      {MNEME_CALL_cudaExternalMemoryGetMappedBuffer, map_buffer, MNEME_CALL_cudaFree, free_any, NotRecorded::external_memory},
      {MNEME_CALL_cudaGraphicsResourceGetMappedPointer, map_graphics, MNEME_CALL_cudaFree, free_any,
       NotRecorded::external_memory}};
  for (const Way& way : ways) {
    const uint64_t refused = program.count(way.reason), recorded = program.report().instances;
    way.gets(way.get);
    ASSERT_EQ(out, memory) << way.get;
    EXPECT_EQ(program.launch(program.increment, memory + 3, 1), cudaSuccess);
    EXPECT_EQ(program.count(way.reason), refused + 1) << way.get;
    way.gives_back(way.give_back);
    program.call<decltype(cudaHostRegister)>(MNEME_CALL_cudaHostRegister, static_cast<void*>(memory), sizeof memory, 0u);
    EXPECT_EQ(program.launch(program.increment, memory + 3, 1), cudaSuccess);
    EXPECT_EQ(program.report().instances, recorded + 1) << way.get << " and " << way.give_back;
    program.call<decltype(cudaHostUnregister)>(MNEME_CALL_cudaHostUnregister, static_cast<void*>(memory));
  }
  EXPECT_EQ(program.instances().size(), ways.size());
}

TEST(Record, StreamCaptureIsLeftAlone) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int* old = program.allocate<int>(16);
  auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  int before = program.vendor().synchronizations;
  program.launch(program.increment, data, 1, stream);
  program.launch(program.increment, data, 1);  // another stream: waiting for the device would break the capture too
  EXPECT_EQ(program.free(old), cudaSuccess);
  EXPECT_EQ(program.vendor().synchronizations, before);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 1u);
  EXPECT_EQ(program.count(NotRecorded::during_capture), 1u);
  program.launch(program.increment, data, 1, stream);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.free(data), cudaSuccess);
  int* again = program.allocate<int>(16);
  EXPECT_EQ(reinterpret_cast<uint64_t>(again), kDefaultAddressSpaceBase.address);  // the one freed in the capture is gone too
}

TEST(Record, AnInvalidatedStreamCaptureEndsToo) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  program.vendor().capturing = cudaStreamCaptureStatusInvalidated;
  program.vendor().end_of_capture = cudaErrorStreamCaptureInvalidated;
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph),
            cudaErrorStreamCaptureInvalidated);
  program.launch(program.increment, data, 1, stream);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 0u);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, AStreamThatIsDestroyedIsCapturedNoMore) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  program.call<decltype(cudaStreamDestroy)>(MNEME_CALL_cudaStreamDestroy, stream);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.count(NotRecorded::during_capture), 0u);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, ADeviceThatIsResetHasNoOthersMemoryAnyMore) {
  FakeProgram program;
  program.allocate<int>(16);
  alignas(4096) static int memory[1024];
  program.vendor().foreign = memory;
  void* out = nullptr;
  program.call<decltype(cudaMallocAsync)>(MNEME_CALL_cudaMallocAsync, &out, sizeof memory, cudaStream_t{});
  program.launch(program.increment, memory, 1);
  EXPECT_EQ(program.count(NotRecorded::pool_memory), 1u);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  program.call<decltype(cudaHostRegister)>(MNEME_CALL_cudaHostRegister, static_cast<void*>(memory), sizeof memory, 0u);
  program.launch(program.increment, memory, 1);
  EXPECT_EQ(program.count(NotRecorded::pool_memory), 1u);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, AFailedLaunchIsNotPublished) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [](void**) { return cudaErrorInvalidConfiguration; };
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaErrorInvalidConfiguration);
  program.vendor().kernels[program.increment] = body;
  EXPECT_TRUE(program.instances().empty());
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 1u);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, AFaultIsTheProgramsOwn) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.vendor().fault = cudaErrorIllegalAddress;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.free(data), cudaErrorIllegalAddress);
  EXPECT_TRUE(program.instances().empty());
}

// As on a GPU, whose context is lost to every later call.
TEST(Record, WhatComesAfterALostDeviceIsNotOnASecondOne) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.vendor().kernels[program.increment] = [](void**) {
    runtime->fault = runtime->lost = cudaErrorIllegalAddress;
    return cudaSuccess;
  };
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 1u);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.count(NotRecorded::device_lost), 1u);
  EXPECT_EQ(program.count(NotRecorded::other_device), 0u);
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 1u);
  EXPECT_EQ(describe(NotRecorded::device_lost), "an earlier launch failed, after which the program's device does nothing more");
}

// Whatever fails in the recorder, the program goes on: launches happen, memory is there and can be freed.
void expect_undisturbed(FakeProgram& program, int* data, const std::string& failure) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 16), cudaSuccess);
  EXPECT_EQ(data[15], 3);
  EXPECT_THAT(program.report().failure.get(), HasSubstr(failure));
  EXPECT_EQ(program.count(NotRecorded::ended), 3u);
  EXPECT_EQ(program.free(data), cudaSuccess);
  int* more = program.allocate<int>(4);
  EXPECT_TRUE(program.vendor().allocations.contains(more));
  EXPECT_EQ(program.free(more), cudaSuccess);
  EXPECT_TRUE(program.instances().empty());
}

TEST(Record, FullDiskEndsRecordingOnly) {
  auto full = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path& path, uint64_t) -> Status {
    return operation == "append" ? error(Code::exhausted, "writing {}: No space left on device", path.string()) : Status();
  });
  FakeProgram program({}, [&](Recorder::Environment& environment) { environment.files = full.get(); });
  int* data = program.allocate<int>(16);
  expect_undisturbed(program, data, "No space left on device");
}

// What would not have been recorded anyway is not lost.
TEST(Record, NoMoreIsLostThanWasToBeRecorded) {
  auto full = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path& path, uint64_t) -> Status {
    return operation == "append" ? error(Code::exhausted, "writing {}: No space left on device", path.string()) : Status();
  });
  RecordingOptions options;
  options.max = 2;
  FakeProgram program(options, [&](Recorder::Environment& environment) { environment.files = full.get(); });
  int* data = program.allocate<int>(16);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(program.launch(program.increment, data, 16), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::ended), 2u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 3u);
  EXPECT_EQ(program.report().lost(), 2u);
}

TEST(Record, WhatWasPublishedBeforeTheDiskFilledStays) {
  std::atomic<bool> is_full = false;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) -> Status {
    return is_full && operation == "append" ? error(Code::exhausted, "writing {}: No space left on device", path.string())
                                            : Status();
  });
  FakeProgram program({}, [&](Recorder::Environment& environment) { environment.files = disk.get(); });
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 16);
  is_full = true;
  program.launch(program.increment, data, 16);
  program.launch(program.increment, data, 16);
  EXPECT_EQ(data[0], 3);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::ended), 2u);
}

TEST(Record, ADamagedFileRefusesItsKernelOnly) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 16);
  const Path file = program.database() / kernel_file_name(program.instances()[0].static_hash);
  std::filesystem::resize_file(file, 20);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(program.launch(program.increment, data, 16), cudaSuccess);
  EXPECT_EQ(program.launch(program.add_table, data), cudaSuccess);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("mneme: warning: increment is not recorded, other kernels are: " + file.string()));
  EXPECT_THAT(said, HasSubstr("; remove the file, or name another directory with -rdb\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(program.count(NotRecorded::damaged_file), 2u);
  EXPECT_EQ(program.count(NotRecorded::ended), 0u);
  EXPECT_EQ(program.report().failure.get(), "");
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(data[0], 3);
}

// What stands where a file of a kernel is to be. `make` puts it there.
void expect_one_kernel_refused(const std::function<std::string(const Digest& static_hash)>& name_of,
                               const std::function<void(const Path& place)>& make, const std::string& reason) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 16);
  const Path place = program.database() / name_of(program.instances()[0].static_hash);
  SCOPED_TRACE(place.string() + ": " + reason);
  std::filesystem::remove(place);
  make(place);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(program.launch(program.increment, data, 16), cudaSuccess);
  EXPECT_EQ(program.launch(program.add_table, data), cudaSuccess);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("mneme: warning: increment is not recorded, other kernels are: "));
  EXPECT_THAT(said, HasSubstr(place.string() + ": " + reason));
  EXPECT_EQ(program.count(NotRecorded::damaged_file), 2u);
  EXPECT_EQ(program.count(NotRecorded::ended), 0u);
  EXPECT_EQ(program.report().failure.get(), "");
  EXPECT_EQ(program.report().instances, 2u);
  EXPECT_EQ(data[0], 3);
}

TEST(Record, WhatStandsInThePlaceOfAFileRefusesItsKernelOnly) {
  const auto fifo = [](const Path& place) { EXPECT_EQ(::mkfifo(place.c_str(), 0666), 0); };
  const auto directory = [](const Path& place) { std::filesystem::create_directory(place); };
  for (auto name_of : {kernel_file_name, list_file_name, ir_file_name}) {
    expect_one_kernel_refused(name_of, fifo, "it is a FIFO, where a regular file is needed");
    expect_one_kernel_refused(name_of, directory, "Is a directory");
  }
}

TEST(Record, AFailureIsSaidInFullOnce) {
  FakeProgram program;
  program.failures = [](std::string_view call) {
    return call == "reserve" ? error(Code::unavailable, "the range is taken") : Status();
  };
  ::testing::internal::CaptureStderr();
  program.allocate<int>(16);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: recording ends here; the program goes on, and what was recorded before is whole\n");
  EXPECT_THAT(program.report().failure.get(), HasSubstr("the range is taken"));
}

TEST(Record, AFailureIsSaidHereWhereNothingIsSaidAtTheEnd) {
  FakeProgram program;
  program.failures = [](std::string_view call) {
    return call == "reserve" ? error(Code::unavailable, "the range is taken") : Status();
  };
  const log::Level usual = log::level();
  log::set_level(log::Level::warning);
  ::testing::internal::CaptureStderr();
  program.allocate<int>(16);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("the range is taken"));
  log::set_level(usual);
}

TEST(Record, RangeTakenEndsRecordingOnly) {
  FakeProgram program;
  program.failures = [](std::string_view call) {
    return call == "reserve" ? error(Code::unavailable, "the range is taken by /lib/x.so") : Status();
  };
  int* data = program.allocate<int>(16);
  EXPECT_TRUE(program.vendor().allocations.contains(data));
  expect_undisturbed(program, data, "the range is taken by /lib/x.so");
}

TEST(Record, DeviceThatCannotBeReadEndsRecordingOnly) {
  FakeProgram program;
  program.failures = [](std::string_view call) {
    return call == "hash_pages" ? error(Code::exhausted, "no memory for hashes") : Status();
  };
  int* data = program.allocate<int>(16);
  expect_undisturbed(program, data, "recording increment: no memory for hashes");
}

TEST(Record, WhoHoldsTheLockEndsRecordingOnly) {
  FakeProgram program({}, [](Recorder::Environment& environment) {
    environment.lock_patience = {.notice = std::chrono::seconds(1), .limit = std::chrono::milliseconds(20)};
  });
  int* data = program.allocate<int>(16);
  // As somebody does who may read the database.
  const Path lock = program.database() / ".lock";
  Descriptor held(::open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.number(), LOCK_EX), 0);
  expect_undisturbed(program, data, "recording increment: locking " + lock.string() + ": ");
  EXPECT_EQ(program.report().lost(), 3u);
}

TEST(Record, WhatIsDamagedIsRecordedAgain) {
  const TemporaryDirectory temporary;
  const Path& folder = temporary.path();
  RecordingOptions options;
  options.database = folder / "db";
  Digest kernel, instance;
  for (int round = 0; round < 3; ++round) {
    FakeProgram program(options);
    int* data = program.allocate<int>(50'000);
    for (int i = 0; i < 50'000; ++i) data[i] = i;
    EXPECT_EQ(program.launch(program.increment, data, 10), cudaSuccess);
    EXPECT_EQ(program.report().instances, round == 2 ? 0u : 1u) << round;
    EXPECT_EQ(program.report().duplicates, round == 2 ? 1u : 0u) << round;
    EXPECT_EQ(program.report().new_kernels, 1u) << round;
    auto listing = Database::open(options.database)->list();
    ASSERT_EQ(listing->kernels.size(), 1u);
    ASSERT_EQ(listing->kernels[0].instances.size(), 1u);
    kernel = listing->kernels[0].kernel.static_hash;
    instance = listing->kernels[0].instances[0].dynamic_hash;
    Status whole = Database::open(options.database)->check_instance(kernel, instance);
    EXPECT_TRUE(whole.ok()) << round << ": " << whole.message();
    if (round != 0) continue;
    for (const auto& pack : std::filesystem::directory_iterator(folder / "db" / "pages")) {
      std::fstream file(pack.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(100);
      file.write("damage", 6);
    }
    EXPECT_FALSE(Database::open(options.database)->check_instance(kernel, instance).ok());
  }
}

TEST(Record, DirectoryThatCannotBeMadeEndsRecordingOnly) {
  auto closed = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path& path, uint64_t) -> Status {
    return operation == "create_directories" ? error(Code::io, "creating the directory {}: Permission denied", path.string())
                                             : Status();
  });
  FakeProgram program({}, [&](Recorder::Environment& environment) { environment.files = closed.get(); });
  int* data = program.allocate<int>(16);
  expect_undisturbed(program, data, "cannot be written: creating the directory");
}

TEST(Record, UsedUpRangeEndsRecordingOnlyWhenTheVendorHasMemory) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.vendor().out_of_memory = true;
  EXPECT_EQ(program.allocate<char>(size_t{1} << 30), nullptr);
  EXPECT_EQ(program.report().failure.get(), "");
  program.vendor().out_of_memory = false;
  char* large = program.allocate<char>(size_t{1} << 30);
  EXPECT_TRUE(program.vendor().allocations.contains(large));
  EXPECT_THAT(program.report().failure.get(), HasSubstr("reserve a larger range"));
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.free(large), cudaSuccess);
  EXPECT_EQ(program.free(data), cudaSuccess);
}

TEST(Record, OtherThreadsWaitForACapture) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  std::thread other;
  auto body = program.vendor().kernels[program.increment];
  int source = 77;
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    other = std::thread([&] {
      program.call<decltype(cudaMemcpy)>(MNEME_CALL_cudaMemcpy, static_cast<void*>(data + 8), static_cast<const void*>(&source),
                                         sizeof source, cudaMemcpyHostToDevice);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return body(arguments);
  };
  program.launch(program.increment, data, 1);
  other.join();
  EXPECT_EQ(data[8], 77);
  auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  auto database = *Database::open(program.database());
  auto recorded = *database.load_instance(instances[0].static_hash, instances[0].dynamic_hash);
  EXPECT_EQ(ints_of(database, recorded.epilogue.regions[0])[8], 0);
}

TEST(Record, ADeviceIsNotResetUnderAReading) {
  static std::atomic<bool> is_reset;
  is_reset = false;
  FakeProgram program({}, nullptr, [](std::vector<mneme_function>& slots) {
    constexpr auto kReset = [] { return is_reset = true, cudaSuccess; };
    slots[MNEME_CALL_cudaDeviceReset] = reinterpret_cast<mneme_function>(+kReset);
  });
  std::thread other;
  bool reset_meanwhile = false;
  program.failures = [&](std::string_view call) -> Status {
    if (call != "hash_pages" || other.joinable()) return {};
    other = std::thread([&] { program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset); });
    while (!recorder()->gate().disturbed() && !is_reset) std::this_thread::yield();  // its patience is at its end
    reset_meanwhile = is_reset;
    return {};
  };
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, data, 0), cudaSuccess);
  ASSERT_TRUE(other.joinable());
  other.join();
  EXPECT_FALSE(reset_meanwhile);
  EXPECT_TRUE(is_reset);
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
}

TEST(Record, ThreadsThatNeedEachOtherGoOnAndTheLaunchIsNotRecorded) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  auto body = program.vendor().kernels[program.increment];
  // The kernel ends only when another thread has copied something, which waits for the kernel.
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    int source = 77;
    std::thread([&] {
      program.call<decltype(cudaMemcpy)>(MNEME_CALL_cudaMemcpy, static_cast<void*>(data + 8), static_cast<const void*>(&source),
                                         sizeof source, cudaMemcpyHostToDevice);
    }).join();
    return body(arguments);
  };
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(data[8], 77);
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
  EXPECT_TRUE(program.instances().empty());
  program.vendor().kernels[program.increment] = body;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u) << "the next one is disturbed by nobody";
}

TEST(Record, ACaptureThatCannotBeginKeepsNoLaterOneFromIt) {
  FakeProgram program({}, [](Recorder::Environment& environment) { environment.patience = std::chrono::milliseconds(20); });
  int* data = program.allocate<int>(16);
  std::atomic<bool> busy = false, ends = false;
  program.vendor().kernels[program.plain] = [&](void**) {
    busy = true;
    while (!ends) std::this_thread::yield();
    return cudaSuccess;
  };
  std::thread other([&] { program.launch(program.plain, data); });
  while (!busy) std::this_thread::yield();
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
  ends = true;
  other.join();
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, MemoryFreedDuringACaptureStaysUntilItsEnd) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int* old = program.allocate<int>(16);
  auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    std::thread([&] { EXPECT_EQ(program.free(old), cudaSuccess); }).join();
    return body(arguments);
  };
  program.launch(program.increment, data, 1);
  program.vendor().kernels[program.increment] = body;
  ASSERT_EQ(program.instances().size(), 1u);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances()[1].state_bytes, Bytes(64));
}

TEST(Record, ManyThreadsLaunch) {
  RecordingOptions options;
  options.max = 1000;
  FakeProgram program(options, [](Recorder::Environment& environment) { environment.patience = std::chrono::seconds(60); });
  std::vector<std::thread> threads;
  constexpr int kThreads = 4, kLaunches = 5;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      int* data = program.allocate<int>(1000);
      for (int i = 0; i < kLaunches; ++i) EXPECT_EQ(program.launch(program.increment, data, 1000), cudaSuccess);
      EXPECT_EQ(data[999], kLaunches);
      EXPECT_EQ(program.free(data), cudaSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(program.instances().size() + program.report().duplicates, size_t{kThreads * kLaunches});
  auto database = *Database::open(program.database());
  for (const InstanceRecord& instance : program.instances()) {
    auto recorded = *database.load_instance(instance.static_hash, instance.dynamic_hash);
    int changed = 0;
    for (size_t i = 0; i < recorded.prologue.regions.size(); ++i)
      changed += recorded.prologue.regions[i].pages != recorded.epilogue.regions[i].pages;
    EXPECT_EQ(changed, 1);  // the launch's own memory and nobody else's
  }
}

TEST(Record, DeviceResetStartsAgain) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 1);
  EXPECT_TRUE(recorder()->owns(reinterpret_cast<uint64_t>(data)));
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  EXPECT_FALSE(recorder()->owns(reinterpret_cast<uint64_t>(data))) << "anybody's memory may come to lie there";
  data = program.allocate<int>(16);
  EXPECT_EQ(reinterpret_cast<uint64_t>(data), kDefaultAddressSpaceBase.address);
  program.launch(program.increment, data, 2);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Record, AForkedChildPassesThrough) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  recorder()->before_fork();
  pid_t child = ::fork();
  if (child == 0) {
    recorder()->after_fork_in_child();
    int* own = program.allocate<int>(4);
    bool passed = program.launch(program.increment, own, 4) == cudaSuccess && program.vendor().allocations.contains(own);
    ::_exit(passed ? 0 : 1);
  }
  recorder()->after_fork_in_parent();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, KernelHandlesStandForTheirKernels) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  cudaKernel_t handle = nullptr;
  EXPECT_EQ(host_function_of(program.increment), program.increment);
  program.call<decltype(cudaGetKernel)>(MNEME_CALL_cudaGetKernel, &handle, program.increment);
  // The fake runtime gives null for a handle.
  EXPECT_EQ(host_function_of(nullptr), program.increment);
  program.vendor().kernels[nullptr] = program.vendor().kernels[program.increment];
  program.launch(nullptr, data, 1);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Record, PitchedMemory) {
  FakeProgram program(with_all_memory());
  void* out = nullptr;
  size_t pitch = 0;
  EXPECT_EQ(program.call<decltype(cudaMallocPitch)>(MNEME_CALL_cudaMallocPitch, &out, &pitch, size_t{700}, size_t{3}),
            cudaSuccess);
  EXPECT_EQ(pitch, 1024u);
  EXPECT_TRUE(recorder()->owns(reinterpret_cast<uint64_t>(out)));
  cudaPitchedPtr volume{};
  EXPECT_EQ(program.call<decltype(cudaMalloc3D)>(MNEME_CALL_cudaMalloc3D, &volume, cudaExtent{700, 3, 2}), cudaSuccess);
  EXPECT_TRUE(recorder()->owns(reinterpret_cast<uint64_t>(volume.ptr)));
  EXPECT_EQ(volume.pitch, 1024u);
  cudaPointerAttributes attributes{};
  program.call<decltype(cudaPointerGetAttributes)>(MNEME_CALL_cudaPointerGetAttributes, &attributes,
                                                   static_cast<const void*>(out));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(std::pair(volume.xsize, volume.ysize), std::pair(size_t{700}, size_t{3}));
  // With every row of every slice.
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(out), 1), cudaSuccess);
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  const auto recorded = *Database::open(program.database())->load_instance(instances[0].static_hash, instances[0].dynamic_hash);
  ASSERT_EQ(recorded.prologue.regions.size(), 2u);
  EXPECT_EQ(recorded.prologue.regions[0].size, Bytes(3 * 1024));
  EXPECT_EQ(recorded.prologue.regions[1].size, Bytes(2 * 3 * 1024));
  EXPECT_EQ(program.free(out), cudaSuccess);
}

}  // namespace
}  // namespace mneme::testing
