#include "mneme/base/descriptor_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "mneme/base/memory_file.h"

namespace mneme {
namespace {

// A message of one byte.
struct OneByte {
  char byte = 'x';
  iovec piece{&byte, 1};
  DescriptorRoom<3> room;
  msghdr header{};
  OneByte() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = room.bytes.data();
    header.msg_controllen = room.bytes.size();
  }
  OneByte(const OneByte&) = delete;
};

class DescriptorMessage : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    sender_ = Descriptor(ends[0]);
    receiver_ = Descriptor(ends[1]);
  }
  Descriptor sender_, receiver_;
};

TEST_F(DescriptorMessage, FilesArriveInTheirOrder) {
  std::vector<Descriptor> files;
  std::vector<int> numbers;
  for (std::string_view words : {"first", "second", "third"}) {
    auto file = make_memory_file("words", std::as_bytes(std::span(words)));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    numbers.push_back(file->number());
    files.push_back(std::move(*file));
  }
  OneByte sent, received;
  put_descriptors(sent.header, numbers);
  ASSERT_EQ(::sendmsg(sender_.number(), &sent.header, 0), 1);
  ASSERT_EQ(::recvmsg(receiver_.number(), &received.header, MSG_CMSG_CLOEXEC), 1);
  const std::vector<Descriptor> taken = take_descriptors(received.header);
  ASSERT_EQ(taken.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NE(taken[i].number(), numbers[i]);
    EXPECT_EQ(read_whole(taken[i].number()).value(), read_whole(numbers[i]).value());
  }
}

TEST_F(DescriptorMessage, WhatIsNotWantedIsClosed) {
  const int numbers[] = {sender_.number()};
  OneByte sent, received;
  put_descriptors(sent.header, numbers);
  ASSERT_EQ(::sendmsg(sender_.number(), &sent.header, 0), 1);
  ASSERT_EQ(::recvmsg(receiver_.number(), &received.header, MSG_CMSG_CLOEXEC), 1);
  int number = -1;
  {
    const std::vector<Descriptor> taken = take_descriptors(received.header);
    ASSERT_EQ(taken.size(), 1u);
    number = taken[0].number();
    EXPECT_NE(::fcntl(number, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST_F(DescriptorMessage, AMessageMayHaveNone) {
  OneByte sent, received;
  sent.header.msg_controllen = 0;
  ASSERT_EQ(::sendmsg(sender_.number(), &sent.header, 0), 1);
  ASSERT_EQ(::recvmsg(receiver_.number(), &received.header, 0), 1);
  EXPECT_TRUE(take_descriptors(received.header).empty());
}

}  // namespace
}  // namespace mneme
