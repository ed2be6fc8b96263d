// What a worker has said before it ended.
#include "mneme/process/last_words.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace mneme {
namespace {

// What is left of what a worker says; 0 is its exit status.
LastWords said(const std::function<int()>& worker) {
  auto words = LastWords::create();
  EXPECT_TRUE(words.ok()) << words.status().to_string();
  const pid_t child = ::fork();
  if (child == 0) {
    const Descriptor file(::dup(words->descriptor()));
    LastWords::divert_to(file);
    ::_exit(worker());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return std::move(*words);
}

void say(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
}

TEST(LastWords, AreThoseOfTheLastJob) {
  const LastWords words = said([] {
    say("of the start\n");
    LastWords::begin_job();
    say("of the first job\n");
    LastWords::begin_job();
    say("of the ");
    say("second\n");
    return 0;
  });
  EXPECT_EQ(words.all(), "of the second\n");
  EXPECT_EQ(words.read(), "of the second");
}

TEST(LastWords, TellTheJobInWhichTheyWereSaid) {
  const LastWords words = said([] {
    if (!LastWords::begin_job(7)) return 1;
    say("of the first job\n");
    if (!LastWords::begin_job(18446744073709551615u)) return 1;
    say("of the second\n");
    return 0;
  });
  EXPECT_EQ(words.job(), 18446744073709551615u);
  EXPECT_EQ(words.all(), "of the second\n");
  EXPECT_EQ(words.read(), "of the second");

  const LastWords other_job = said([] {
    if (!LastWords::begin_job(7)) return 1;
    say("of the first job\n");
    LastWords::begin_job();
    say("of one that has no number\n");
    return 0;
  });
  EXPECT_EQ(other_job.all(), "of one that has no number\n");

  const LastWords nothing_said = said([] { return LastWords::begin_job(7) ? 0 : 1; });
  EXPECT_EQ(nothing_said.job(), 7u);
  EXPECT_EQ(nothing_said.all(), "");
  EXPECT_EQ(nothing_said.read(), "");
}

TEST(LastWords, AreOfNoJobWhereNoneWasNoted) {
  for (const std::string& text : {std::string(), std::string("job 7\n"), std::string("\2job\0\0\0\n1234567", 15)}) {
    const LastWords words = said([&] {
      LastWords::begin_job();
      say(text);
      return 0;
    });
    EXPECT_EQ(words.job(), 0u) << text;
    EXPECT_EQ(words.all(), text);
  }
  EXPECT_EQ(LastWords().job(), 0u);
  EXPECT_FALSE(LastWords::begin_job(7)) << "standard error is not diverted";
}

TEST(LastWords, AreTheLastOfMany) {
  const std::string many(3 << 19, 'x');
  const LastWords words = said([&] {
    say("LLVM ERROR: long ago\n");
    say(many + "\nthe end\n");
    return 0;
  });
  const std::string all = words.all();
  EXPECT_EQ(all.size(), size_t{1} << 20);
  EXPECT_TRUE(all.ends_with("x\nthe end\n"));
  EXPECT_EQ(words.read(), "the end");
}

TEST(LastWords, OfNobodyAreNone) {
  EXPECT_EQ(LastWords().read(), "");
  EXPECT_EQ(LastWords().all(), "");
  EXPECT_EQ(said([] { return 0; }).read(), "");
}

// A disk is not filled by one that is out of its mind; the limit is an error of writing, and no signal.
TEST(LastWords, WhoHasThemWritesNoFileBeyondOneGiB) {
  said([] {
    const Descriptor file(::memfd_create("large", MFD_CLOEXEC));
    constexpr off_t kLimit = off_t{1} << 30;
    if (::pwrite(file.number(), "x", 1, kLimit - 1) != 1) return 1;
    return ::pwrite(file.number(), "x", 1, kLimit) < 0 && errno == EFBIG ? 0 : 2;
  });
}

TEST(TellingLine, IsTheFirstThatSaysWhatWasWrongElseTheLast) {
  EXPECT_EQ(telling_line(""), "");
  EXPECT_EQ(telling_line("one\ntwo\n\n  \t\n"), "two");
  for (const char* sign : {"LLVM ERROR: no", "a.cc:1: Assertion `x' failed", "terminate called after", "ptxas fatal error: no"})
    EXPECT_EQ(telling_line(std::string("before\n") + sign + "\nLLVM ERROR: the next\nafter"), sign);
  EXPECT_EQ(telling_line("a\x1b[2J\x7f\xc3\xa4~"), "a?[2J???~");
  EXPECT_EQ(telling_line(std::string(1000, 'x')), std::string(300, 'x'));
}

}  // namespace
}  // namespace mneme
