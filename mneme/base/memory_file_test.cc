#include "mneme/base/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mneme {
namespace {

std::string text_of(const ByteVector& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

TEST(MemoryFile, IsReadFromItsBeginningWhateverWasReadBefore) {
  auto file = make_memory_file("words", std::as_bytes(std::span(std::string_view("some words"))));
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  for (off_t place : {0, 4, 10}) {
    ASSERT_EQ(::lseek(file->number(), place, SEEK_SET), place);
    auto bytes = read_whole(file->number());
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    EXPECT_EQ(text_of(*bytes), "some words");
  }
}

TEST(MemoryFile, IsNotForProgramsThatAreStarted) {
  auto file = make_memory_file("words", {});
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_NE(::fcntl(file->number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(MemoryFile, WhatIsNoFileIsNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  EXPECT_EQ(read_whole(ends[0]).status().to_string(), fmt::format("io: reading descriptor {}: it is no regular file", ends[0]));
  EXPECT_EQ(read_whole(-1).status().to_string(), "io: reading descriptor -1: Bad file descriptor");
}

}  // namespace
}  // namespace mneme
