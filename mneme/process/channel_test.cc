#include "mneme/process/channel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

namespace mneme {
namespace {

using Json = nlohmann::json;

class ChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pair = Channel::pair();
    ASSERT_TRUE(pair.ok());
    std::tie(near_, far_) = std::move(*pair);
  }
  Channel near_, far_;
};

TEST_F(ChannelTest, MessagesArriveWholeAndInOrder) {
  const Json small = {{"id", 1}}, large = {{"text", std::string(1'000'000, 'x')}};
  std::thread sender([&] {
    EXPECT_TRUE(near_.send(small).ok());
    EXPECT_TRUE(near_.send(large).ok());
  });
  EXPECT_EQ(far_.receive()->body, small);
  EXPECT_EQ(far_.receive()->body, large);
  sender.join();
}

TEST_F(ChannelTest, DescriptorsComeWithTheirMessage) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  Descriptor reader(pipe[0]), writer(pipe[1]);
  ASSERT_TRUE(near_.send("none").ok());
  ASSERT_TRUE(near_.send("one", std::array{writer.number()}).ok());
  EXPECT_TRUE(far_.receive()->descriptors.empty());
  auto message = far_.receive();
  ASSERT_EQ(message->descriptors.size(), 1u);
  EXPECT_EQ(::write(message->descriptors[0].number(), "x", 1), 1);
  char c = 0;
  EXPECT_EQ(::read(reader.number(), &c, 1), 1);
  EXPECT_EQ(c, 'x');
}

TEST_F(ChannelTest, WhatWasSentBeforeTheEndIsHandedOut) {
  ASSERT_TRUE(near_.send("last words").ok());
  near_.release();
  EXPECT_EQ(far_.take_in().code(), Code::unavailable);
  EXPECT_EQ(far_.next()->body, "last words");
  EXPECT_FALSE(far_.next());
  EXPECT_EQ(far_.receive().status().message(), "receiving a message: the other process has gone");
  EXPECT_EQ(far_.send("anyone?").message(), "sending a message: the other process has gone");
}

TEST_F(ChannelTest, IsShutDownWhoeverHasADescriptorOfItToo) {
  const Descriptor another(::dup(near_.descriptor()));
  near_.shut_down();
  EXPECT_EQ(far_.receive().status().message(), "receiving a message: the other process has gone");
}

TEST_F(ChannelTest, DescriptorsThatCannotBeHadAreTold) {
  ASSERT_TRUE(near_.send("two", std::array{0, 1}).ok());
  ASSERT_TRUE(near_.send("more").ok());
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const Descriptor next(::dup(0));
  const auto few = static_cast<rlim_t>(next.number() + 1);
  const rlimit none{few, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status first = far_.take_in();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  const std::string message = fmt::format(
      "exhausted: receiving a message: its descriptors cannot be had: this process has too many open files, more than {}; raise "
      "that with `ulimit -n`",
      few);
  EXPECT_EQ(first.to_string(), message);
  EXPECT_FALSE(far_.next());
  EXPECT_EQ(far_.receive().status().to_string(), message);
}

TEST_F(ChannelTest, TakingInDoesNotWait) {
  EXPECT_TRUE(far_.take_in().ok());
  EXPECT_FALSE(far_.next());
}

}  // namespace
}  // namespace mneme
