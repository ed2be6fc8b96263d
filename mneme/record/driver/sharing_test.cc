// Processes that are recorded share the recorder's memory by handles, as they do the driver's. Codes are those of an H200's
// driver (580), and what the first process says of itself comes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/record/driver/testing/recorded_program.h"

namespace mneme::driver {
namespace {

using ::testing::HasSubstr;

class HandlesOfMemory : public RecordedAtTheDriver {
 protected:
  std::string shared(const std::string& what) { return recorded(MNEME_TEST_CUBIN " " + what, MNEME_TEST_SHARING); }
};

TEST_F(HandlesOfMemory, AHandleIsUsedAsTheDriversAre) {
  EXPECT_EQ(shared("uses"),
            "by handles: 1, otherwise: 0\n"
            "by handles: 1, otherwise: 0\n"
            "of this context: 1\n"
            "cuIpcGetMemHandle(&handle, memory): 0\n"
            "cuIpcGetMemHandle(&inside, memory + 4): 0\n"
            "one handle: 1\n"
            "cuIpcGetMemHandle(NULL, memory): 1\n"
            "open_memory(&opened, handle): 201\n"
            "cuIpcOpenMemHandle(&memory, handle, 0): 1\n"
            "cuIpcOpenMemHandle(&memory, handle, 2): 1\n"
            "cuIpcOpenMemHandle(NULL, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS): 1\n"
            "open_memory(&memory, handle): 201\n"
            "open_memory(&memory, handle): 0\n"
            "open_memory(&again, handle): 0\n"
            "opened twice at one address: 1, which begins there: 1, 4000 bytes\n"
            "by handles: 0, otherwise: 0\n"
            "by handles: 0, otherwise: 0\n"
            "of this context: 1\n"
            "cuIpcGetMemHandle(&given_on, memory): 1\n"
            "word 3: 3\n"
            "cuMemFree(memory): 1\n"
            "cuIpcCloseMemHandle(memory + 8): 1\n"
            "cuIpcCloseMemHandle(memory): 0\n"
            "cuIpcCloseMemHandle(memory): 201\n"
            "cuIpcCloseMemHandle(memory): 0\n"
            "cuIpcCloseMemHandle(memory): 1\n"
            "open_memory(&memory, of_nobody): 1\n"
            "word 3 here: 5\n");
  EXPECT_EQ(passed(NotRecorded::external_memory), 2u) << "of another process until it is closed as often as it was opened";
  EXPECT_EQ(report().launches, 2u);
  EXPECT_EQ(report().shared, 2u);
}

TEST_F(HandlesOfMemory, MemoryOfSeveralMappingsIsOne) { EXPECT_EQ(shared("large"), "last word: 77\n"); }

TEST_F(HandlesOfMemory, WhatIsFreedIsNotGivenAnyMore) {
  EXPECT_EQ(shared("frees"),
            "at the same address: 1\n"
            "open_memory(&memory, next): 0\n"
            "old word 1000, new word 2000\n"
            "open_memory(&none, handle): 1\n");
}

// Nor does a child that the process leaves behind keep others waiting.
TEST_F(HandlesOfMemory, AProcessThatHasEndedGivesNothing) {
  EXPECT_EQ(shared("ends"), "open_memory(&none, unopened): 1\nat once: 1, word 3: 3\n");
}

TEST_F(HandlesOfMemory, WhatIsOpenedInAContextGoesWithIt) {
  EXPECT_EQ(shared("destroys"), "cuIpcCloseMemHandle(memory): 1\nopen_memory(&again, handle): 0\n");
}

TEST_F(HandlesOfMemory, ARankThatIsNotRecordedOpensMemoryOfOneThatIs) {
  EXPECT_EQ(shared("rank"), "opened: 0, word 3: 3\ncuIpcCloseMemHandle(memory): 0\n");
  EXPECT_EQ(report().recorders, 1u);
}

// Also of a rank that is not recorded.
TEST_F(HandlesOfMemory, AnotherDeviceReachesItWhileTheProgramLetsItReachTheContext) {
  ::setenv("MNEME_FAKE_DEVICES", "2", 1);
  for (const std::string which : {"peers", "peers_of_rank"})
    EXPECT_EQ(shared(which),
              "try_to_launch(memory): 700\n"
              "try_to_launch(memory): 0\n"
              "try_to_launch(later): 0\n"
              "try_to_launch(memory): 700\n"
              "try_to_launch(later): 700\n"
              "try_to_launch(memory): 0\n"
              "word 3: 5\n")
        << which;
  ::unsetenv("MNEME_FAKE_DEVICES");
}

TEST_F(HandlesOfMemory, AProcessThatIsNotOfTheRecordingGetsTheDriversError) {
  EXPECT_EQ(shared("stranger"), "opened: 1, word 3: 0\n");
}

TEST_F(HandlesOfMemory, WhatTheDriverRefusesForItselfIsRefused) {
  EXPECT_EQ(shared("refused"),
            "by handles: 0, otherwise: 0\nby handles: 0, otherwise: 0\nof this context: 0\nof a pool: 1\nof nothing: 1\n");
  EXPECT_EQ(report().shared, 0u);
}

// Of a system that has no memory for other processes. All else is as with it.
TEST_F(HandlesOfMemory, WhereMemoryCannotBeSharedThatIsSaidOnce) {
  ::setenv("MNEME_FAKE_FAIL", "cuMemCreate:0:801", 1);
  const std::string said = recorded("dlsym " MNEME_TEST_CUBIN " ipc ipc launch");
  ::unsetenv("MNEME_FAKE_FAIL");
  EXPECT_THAT(said,
              ::testing::MatchesRegex(
                  "mneme: warning: the program shares device memory with another process \\(cuIpcGetMemHandle\\), and memory "
                  "that the recorder has placed cannot be shared here: giving [^\n]* to another process: it was not made for "
                  "that; record it with --memory-from driver\nsum 500500\n"));
  EXPECT_EQ(report().instances, 1u);
}

// The thread that answers other processes is none of the program's.
TEST_F(HandlesOfMemory, AProgramWhoseMainThreadEndsEndsAsWithoutARecorder) {
  const std::string said = recorded("dlsym " MNEME_TEST_CUBIN " share main_ends");
  EXPECT_THAT(said, HasSubstr("shared: 0\n"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("status")));
}

}  // namespace
}  // namespace mneme::driver
