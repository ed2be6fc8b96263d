// With which memory a launch is recorded, from the program's side.
#include <gmock/gmock.h>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordedMemoryOfALaunch : public ::testing::Test {
 protected:
  // The addresses of the regions of each instance.
  static std::vector<std::vector<void*>> recorded(const FakeProgram& program) {
    auto database = *Database::open(program.database());
    std::vector<std::vector<void*>> all;
    for (const InstanceRecord& instance : program.instances()) {
      const auto memory = *database.load_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_EQ(memory.prologue.regions.size(), memory.epilogue.regions.size());
      EXPECT_EQ(instance.state_bytes, memory.prologue.bytes());
      std::vector<void*>& regions = all.emplace_back();
      for (const Region& region : memory.prologue.regions) regions.push_back(reinterpret_cast<void*>(region.address.address));
    }
    return all;
  }
  static int* launched(FakeProgram& program, void* data, int n = 0) {
    EXPECT_EQ(program.launch(program.increment, static_cast<int*>(data), n), cudaSuccess);
    return static_cast<int*>(data);
  }
};

TEST_F(RecordedMemoryOfALaunch, IsWhatItCanReach) {
  FakeProgram program;
  // first → second → third → second; nothing points to the others.
  void** first = program.allocate<void*>(10);
  program.allocate<char>(1 << 20);
  void** second = program.allocate<void*>(1 << 16);
  char* unrelated = program.allocate<char>(4096);
  void** third = program.allocate<void*>(100);
  first[3] = second + 60000;
  second[65535] = third;
  third[0] = second;
  third[1] = unrelated + 4096 + 4096;  // between it and the last
  third[1] = nullptr;
  launched(program, first);
  EXPECT_THAT(recorded(program), ElementsAre(ElementsAre(first, second, third)));
  EXPECT_EQ(program.instances()[0].memory_extent, MemoryExtent::reachable);
}

TEST_F(RecordedMemoryOfALaunch, IsEverythingWhereThatIsAskedFor) {
  FakeProgram program(with_all_memory());
  int* data = program.allocate<int>(10);
  char* unrelated = program.allocate<char>(4096);
  launched(program, data);
  EXPECT_THAT(recorded(program), ElementsAre(ElementsAre(data, unrelated)));
  EXPECT_EQ(program.instances()[0].memory_extent, MemoryExtent::all);
}

TEST_F(RecordedMemoryOfALaunch, HasWhatAnArgumentPointsBehind) {
  FakeProgram program;
  int* data = program.allocate<int>(128);  // whose end is a multiple of the alignment
  program.allocate<char>(4 << 20);
  int* next = program.allocate<int>(128);
  launched(program, data + 128);
  launched(program, next);
  EXPECT_THAT(recorded(program), ElementsAre(ElementsAre(data), ElementsAre(next)));
}

TEST_F(RecordedMemoryOfALaunch, HasWhatAVariablePointsTo) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int* behind = program.allocate<int>(16);
  program.allocate<int>(16);
  std::memcpy(program.table + 4, &behind, sizeof behind);
  EXPECT_EQ(program.launch(program.add_table, data), cudaSuccess);
  EXPECT_THAT(recorded(program), ElementsAre(::testing::UnorderedElementsAre(data, behind, program.table)));
}

TEST_F(RecordedMemoryOfALaunch, HasHostMemoryThatIsPointedTo) {
  FakeProgram program;
  const auto host_alloc = [&](size_t size) {
    void* out = nullptr;
    EXPECT_EQ(program.call<decltype(cudaHostAlloc)>(MNEME_CALL_cudaHostAlloc, &out, size, unsigned{cudaHostAllocMapped}),
              cudaSuccess);
    return static_cast<void**>(out);
  };
  void** data = program.allocate<void*>(16);
  void** reached = host_alloc(kPageSize.count);
  host_alloc(kPageSize.count);
  void** behind = program.allocate<void*>(16);
  reached[5] = behind;
  launched(program, data);
  data[0] = reached;
  launched(program, data);
  EXPECT_THAT(recorded(program), ElementsAre(ElementsAre(data), ElementsAre(data, behind, reached)));
}

TEST_F(RecordedMemoryOfALaunch, IsAllThatMakesTwoLaunchesDiffer) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int* unrelated = program.allocate<int>(16);
  launched(program, data);
  unrelated[0] = 1;
  launched(program, data);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.report().duplicates, 1u);
}

TEST_F(RecordedMemoryOfALaunch, IsReadAnewOnlyWhereItHasChangedSinceItWasReached) {
  FakeProgram program;
  char* large = program.allocate<char>(4 * kPageSize.count);
  char* other = program.allocate<char>(1);
  const auto copies = [&] {
    const auto calls = program.device().calls();
    return std::count(calls.begin(), calls.end(), "copy_to_host");
  };
  launched(program, large);
  launched(program, other);
  const auto before = copies();
  large[0] = 1;
  launched(program, large);
  EXPECT_EQ(copies() - before, 1) << "the page that the program changed";
  EXPECT_EQ(program.instances().size(), 3u);
}

TEST_F(RecordedMemoryOfALaunch, KeepsAnnotationsOfWhatIsThere) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  int* unrelated = program.allocate<int>(16);
  mneme_annotation annotation{};
  annotation.dtype = MNEME_I32;
  for (int* memory : {data, unrelated}) program.call_table().annotate(&program.call_table(), memory, 4, &annotation);
  launched(program, data);
  const auto annotations = program.instances()[0].annotations;
  ASSERT_EQ(annotations.size(), 1u);
  EXPECT_EQ(annotations[0].address.address, reinterpret_cast<uint64_t>(data));
}

TEST_F(RecordedMemoryOfALaunch, IsWhatTheLimitOfALaunchCounts) {
  RecordingOptions options;
  options.max_launch_bytes = 1_KiB;
  options.distinct = Distinct::arguments;
  options.max = 2;
  FakeProgram program(options);
  void** data = program.allocate<void*>(16);
  char* large = program.allocate<char>(4096);
  launched(program, large);  // too large by its argument
  EXPECT_EQ(program.count(NotRecorded::large_launch), 1u);
  data[0] = large;
  for (int i = 0; i < 3; ++i) launched(program, data);  // by what that points to
  EXPECT_EQ(program.count(NotRecorded::large_launch), 4u);
  EXPECT_THAT(recorded(program), IsEmpty());
  data[0] = nullptr;
  launched(program, data);
  EXPECT_EQ(program.instances().size(), 1u) << "a launch that was too large counts neither for --max nor for --distinct";
}

TEST_F(RecordedMemoryOfALaunch, IsWhatTheLimitOfTheDatabaseCounts) {
  RecordingOptions options;
  options.max_bytes = 200_KiB;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  auto* noise = program.allocate<uint32_t>(100'000);
  for (uint32_t i = 0; i < 100'000; ++i) noise[i] = i * 2654435761u ^ (i * i * 40503u << 7);
  launched(program, data, 1);
  launched(program, noise, 1);
  launched(program, noise, 1);
  launched(program, data, 1);
  EXPECT_EQ(program.count(NotRecorded::beyond_bytes), 2u);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST_F(RecordedMemoryOfALaunch, ThatCannotBeFoundEndsRecording) {
  FakeProgram program;
  program.failures = [](std::string_view call) {
    return call == "find_pointers" ? error(Code::device_fault, "the device is lost") : Status();
  };
  program.allocate<int>(16);  // is looked for
  int* data = launched(program, program.allocate<int>(16), 1);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(program.report().failure.get(), "recording increment: the device is lost");
  EXPECT_THAT(program.instances(), IsEmpty());
}

}  // namespace
}  // namespace mneme::testing
