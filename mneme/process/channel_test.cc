#include "mneme/process/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "mneme/base/memory_file.h"

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

TEST_F(ChannelTest, WhatIsSentLaterGoesWithTheNextMessageOrWhenItIsTold) {
  near_.send_later("one");
  near_.send_later("two");
  ASSERT_TRUE(far_.take_in().ok());
  EXPECT_FALSE(far_.next().has_value());
  const Descriptor writer(::dup(STDERR_FILENO));
  ASSERT_TRUE(near_.send("three", std::array{writer.number()}).ok());
  EXPECT_EQ(far_.receive()->body, "one");
  EXPECT_TRUE(far_.receive()->descriptors.empty());
  EXPECT_EQ(far_.receive()->descriptors.size(), 1u);
  near_.send_later("four");
  ASSERT_TRUE(near_.flush().ok());
  EXPECT_EQ(far_.receive()->body, "four");
  far_ = {};
  EXPECT_TRUE(near_.flush().ok()) << "nothing is to be sent";
  near_.send_later("five");
  EXPECT_EQ(near_.flush().code(), Code::unavailable);
  EXPECT_TRUE(near_.flush().ok()) << "it is lost";
}

TEST_F(ChannelTest, WhatHasArrivedIsLookedThroughBeforeItIsHandedOut) {
  EXPECT_FALSE(far_.mentions("stop"));
  ASSERT_TRUE(near_.send({{"type", "go"}}).ok());
  ASSERT_TRUE(near_.send({{"type", "stop"}}).ok());
  EXPECT_FALSE(far_.mentions("stop")) << "not taken in";
  ASSERT_TRUE(far_.take_in().ok());
  EXPECT_TRUE(far_.mentions("stop"));
  EXPECT_EQ(far_.next()->body["type"], "go");
  EXPECT_TRUE(far_.mentions("stop"));
  EXPECT_FALSE(far_.mentions("go"));
  EXPECT_EQ(far_.next()->body["type"], "stop");
  EXPECT_FALSE(far_.mentions("stop"));
}

// A signal cuts what the system takes at a time.
TEST_F(ChannelTest, AMessageIsSentWholeWhateverInterruptsIt) {
  struct sigaction action{}, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::string text(4'000'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i / 1000 % 26);
  std::thread sender([&] { EXPECT_TRUE(near_.send(text).ok()); });
  std::optional<Message> message;
  while (!message) {
    ::pthread_kill(sender.native_handle(), SIGUSR1);
    ASSERT_TRUE(far_.take_some().ok());
    message = far_.next();
  }
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_TRUE(message->body == text);
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

TEST_F(ChannelTest, AMessageHasAsManyDescriptorsAsItMayHave) {
  std::vector<Descriptor> files;
  std::vector<int> numbers;
  for (size_t i = 0; i <= Channel::kMostDescriptors; ++i) {
    files.push_back(*make_memory_file("one of many", std::as_bytes(std::span(&i, 1))));
    numbers.push_back(files.back().number());
  }
  EXPECT_EQ(near_.send("too many", numbers).to_string(),
            fmt::format("internal: sending a message: {} descriptors are more than the {} of one message",
                        Channel::kMostDescriptors + 1, Channel::kMostDescriptors));
  numbers.pop_back();
  ASSERT_TRUE(near_.send("many", numbers).ok());
  auto message = far_.receive();
  ASSERT_TRUE(message.ok()) << message.status().to_string();
  EXPECT_EQ(message->body, "many");
  ASSERT_EQ(message->descriptors.size(), Channel::kMostDescriptors);
  for (size_t i = 0; i < Channel::kMostDescriptors; ++i) {
    size_t number = 0;
    EXPECT_EQ(::pread(message->descriptors[i].number(), &number, sizeof number, 0), sizeof number);
    EXPECT_EQ(number, i);
    EXPECT_NE(::fcntl(message->descriptors[i].number(), F_GETFD) & FD_CLOEXEC, 0) << "it is not for programs that are started";
  }
}

// As of another version, in which a message may have more.
TEST_F(ChannelTest, AMessageWithTooManyDescriptorsIsTold) {
  constexpr size_t kMany = Channel::kMostDescriptors + 1;
  std::array<int, kMany> numbers{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> control{};
  char byte = 0;
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof numbers);
  std::memcpy(CMSG_DATA(rights), numbers.data(), sizeof numbers);
  ASSERT_EQ(::sendmsg(near_.descriptor(), &message, 0), 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(far_.receive().status().to_string(),
              fmt::format("io: receiving a message: it has more than {} descriptors", Channel::kMostDescriptors));
}

// One that does not read may not hold up the other for ever, whichever it is.
TEST_F(ChannelTest, NeitherEndWaitsWithoutLimitForTheOtherToRead) {
  for (const Channel* end : {&near_, &far_}) {
    timeval limit{};
    socklen_t size = sizeof limit;
    ASSERT_EQ(::getsockopt(end->descriptor(), SOL_SOCKET, SO_SNDTIMEO, &limit, &size), 0);
    EXPECT_EQ(limit.tv_sec, 10);
  }
}

// The system then tells of a connection that was reset, and not of its end.
TEST_F(ChannelTest, AnEndThatGoesBeforeItHasReadAllIsOneThatHasGone) {
  ASSERT_TRUE(far_.send("unread").ok());
  near_.release();
  EXPECT_EQ(far_.receive().status().to_string(), "unavailable: receiving a message: the other process has gone");
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
