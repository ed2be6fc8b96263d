#include "mneme/process/zygote.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>

#include "mneme/process/child.h"
#include "mneme/process/zygote_messages.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// This test's own program is the zygote's too: see main().
class ZygoteTest : public ::testing::Test {
 protected:
  ZygoteTest() : zygote_(ZygoteProcess::start("/proc/self/exe", {"--zygote"})) {}
  void SetUp() override { ASSERT_TRUE(zygote_.ok()) << zygote_.status().to_string(); }

  Channel fork_worker(uint64_t id) { return *zygote_->fork_worker(id, {{"greeting", "hello"}}); }
  // The next that ended.
  WorkerProcessEnded ended() {
    for (;;) {
      pollfd event{zygote_->channel().descriptor(), POLLIN, 0};
      ::poll(&event, 1, 10'000);
      auto all = zygote_->take_ended();
      if (!all.ok()) return {0, -1, {}};
      if (!all->empty()) return all->front();
    }
  }

  Result<ZygoteProcess> zygote_;
};

TEST_F(ZygoteTest, WorkersDoTheirOrder) {
  Channel a = fork_worker(1), b = fork_worker(2);
  EXPECT_EQ(b.receive()->body["greeting"], "hello");
  EXPECT_EQ(a.receive()->body["greeting"], "hello");
  ASSERT_TRUE(a.send("how are you?").ok());
  EXPECT_EQ(a.receive()->body, "how are you?");
}

TEST_F(ZygoteTest, TellsHowAWorkerEnded) {
  Channel a = fork_worker(7);
  EXPECT_TRUE(a.receive().ok());
  ASSERT_TRUE(a.send("crash").ok());
  EXPECT_EQ(a.receive().status().code(), Code::unavailable);
  WorkerProcessEnded end = ended();
  EXPECT_EQ(end.id, 7u);
  EXPECT_EQ(ProcessEnd(end.wait_status).describe(), "ended by signal 6 (Aborted)");

  Channel b = fork_worker(8);
  b = Channel();
  end = ended();
  EXPECT_EQ(end.id, 8u);
  EXPECT_EQ(ProcessEnd(end.wait_status).describe(), "ended with exit status 0");
}

TEST_F(ZygoteTest, KillsAWorkerThatHangs) {
  Channel a = fork_worker(1);
  EXPECT_TRUE(a.receive().ok());
  ASSERT_TRUE(a.send("hang").ok());
  ASSERT_TRUE(zygote_->kill_worker(1).ok());
  EXPECT_EQ(ProcessEnd(ended().wait_status).describe(), "ended by signal 9 (Killed)");
}

TEST_F(ZygoteTest, KillsNoOtherWorker) {
  Channel a = fork_worker(1), b = fork_worker(2), c = fork_worker(3);
  for (Channel* each : {&a, &b, &c}) EXPECT_TRUE(each->receive().ok());
  ASSERT_TRUE(zygote_->kill_worker(2).ok());
  EXPECT_EQ(ended().id, 2u);
  for (Channel* each : {&a, &c}) {
    ASSERT_TRUE(each->send("still there?").ok());
    EXPECT_EQ(each->receive()->body, "still there?");
  }
}

// The zygote gets one signal for them.
TEST_F(ZygoteTest, TellsOfWorkersThatEndTogether) {
  Channel a = fork_worker(1), b = fork_worker(2);
  const Json one = a.receive()->body, two = b.receive()->body;
  const pid_t zygote = one["parent"];
  ASSERT_EQ(::kill(zygote, SIGSTOP), 0);
  const auto letter = [](pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/stat");
    std::string pid, name, state;
    status >> pid >> name >> state;
    return state;
  };
  while (letter(zygote) != "T") ::usleep(1'000);
  for (const Json& worker : {one, two}) {
    ASSERT_EQ(::kill(worker["pid"], SIGKILL), 0);
    while (letter(worker["pid"]) != "Z") ::usleep(1'000);
  }
  ASSERT_EQ(::kill(zygote, SIGCONT), 0);
  std::set<uint64_t> ids;
  for (int i = 0; i < 10 && ids.size() < 2; ++i) {
    pollfd event{zygote_->channel().descriptor(), POLLIN, 0};
    ::poll(&event, 1, 1'000);
    if (event.revents == 0) continue;
    auto all = zygote_->take_ended();
    ASSERT_TRUE(all.ok());
    for (const WorkerProcessEnded& end : *all) ids.insert(end.id);
  }
  EXPECT_EQ(ids, (std::set<uint64_t>{1, 2}));
}

// The zygote blocks a signal for itself.
TEST_F(ZygoteTest, AWorkerHasTheSignalsItsProgramHad) {
  Channel a = fork_worker(1);
  EXPECT_EQ(a.receive()->body["child_signal"], "free");
}

TEST_F(ZygoteTest, WhatAWorkerStartedEndsWithIt) {
  Channel a = fork_worker(1);
  EXPECT_TRUE(a.receive().ok());
  ASSERT_TRUE(a.send("fork").ok());
  const pid_t started = a.receive()->body;
  ASSERT_EQ(::kill(started, 0), 0);
  a = Channel();
  EXPECT_EQ(ProcessEnd(ended().wait_status).describe(), "ended with exit status 0");
  // It is nobody's child any more, and may be a zombie until init has seen it.
  const auto is_alive = [&] {
    std::ifstream status("/proc/" + std::to_string(started) + "/stat");
    std::string pid, name, state;
    return status >> pid >> name >> state && state != "Z" && state != "X";
  };
  for (int i = 0; is_alive() && i < 500; ++i) ::usleep(10'000);
  EXPECT_FALSE(is_alive());
  if (is_alive()) ::kill(started, SIGKILL);
}

TEST_F(ZygoteTest, EndsWithItsWorkers) {
  Channel a = fork_worker(1);
  pid_t worker = a.receive()->body["pid"];
  ASSERT_TRUE(a.send("hang").ok());
  {
    ZygoteProcess gone = std::move(*zygote_);
  }
  EXPECT_EQ(::kill(worker, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

// Ctrl-C at the terminal is for the pool's process, which ends the zygote.
TEST_F(ZygoteTest, AKeyAtTheTerminalIsNotForIt) {
  Channel a = fork_worker(1);
  const pid_t zygote = a.receive()->body["parent"];
  ASSERT_EQ(::kill(zygote, SIGINT), 0);
  Channel b = fork_worker(2);
  auto greeting = b.receive();
  ASSERT_TRUE(greeting.ok()) << greeting.status().to_string();
  EXPECT_EQ(greeting->body["parent"], zygote);
}

TEST_F(ZygoteTest, WhatAWorkerSaysIsKept) {
  auto words = LastWords::create();
  ASSERT_TRUE(words.ok());
  auto worker = zygote_->fork_worker(1, {}, *words);
  ASSERT_TRUE(worker.ok() && worker->receive().ok());
  ASSERT_TRUE(worker->send("say").ok());
  EXPECT_TRUE(worker->receive().ok());
  EXPECT_EQ(words->all(), "said\n");
}

// How one of a version before the messages had types refused.
TEST(ZygoteProcess, AnOlderOnesRefusalIsHeard) {
  Message message{{{"reason", "another version"}}, {}};
  auto decoded = decode_from_zygote(message);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  ASSERT_TRUE(std::holds_alternative<ZygoteRefused>(*decoded));
  EXPECT_EQ(std::get<ZygoteRefused>(*decoded).reason, "another version");
}

// What it has said before it goes is heard first.
TEST(ZygoteProcess, WhatOneThatHasGoneSaidIsHeard) {
  for (const char* mode : {"--gone", "--refusing"}) {
    auto zygote = ZygoteProcess::start("/proc/self/exe", {mode});
    ASSERT_TRUE(zygote.ok()) << zygote.status().to_string();
    pollfd event{zygote->channel().descriptor(), 0, 0};
    ASSERT_EQ(::poll(&event, 1, 10'000), 1) << "it ends";
    if (mode == std::string_view("--gone")) {
      auto ended = zygote->take_ended();
      ASSERT_TRUE(ended.ok()) << ended.status().to_string();
      ASSERT_EQ(ended->size(), 1u);
      EXPECT_EQ(ended->front().id, 7u);
      EXPECT_EQ(zygote->take_ended().status().to_string(), "unavailable: receiving a message: the other process has gone");
    }
    if (mode == std::string_view("--refusing"))
      for (int i = 0; i < 2; ++i) EXPECT_EQ(zygote->take_ended().status().to_string(), "unavailable: there will be no worker");
  }
}

// Without its end of a connection a worker would have nobody to work for.
TEST(ZygoteMessages, AWorkerIsForkedWithItsDescriptorAlone) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  for (const bool with : {true, false}) {
    const std::vector<int> descriptors(with ? 1 : 0, STDIN_FILENO);
    ASSERT_TRUE(send(ends->first, ForkWorker{7, {}}, descriptors).ok());
    auto message = ends->second.receive();
    ASSERT_TRUE(message.ok()) << message.status().to_string();
    EXPECT_EQ(decode_to_zygote(*message).status().code(), with ? Code::ok : Code::corrupt);
  }
}

TEST(ZygoteProcess, SaysWhatCannotBeStarted) {
  EXPECT_EQ(ZygoteProcess::start("/nowhere/mneme", {}).status().message(),
            "starting /nowhere/mneme for the pool: No such file or directory");
}

void serve(const Json& order, Channel channel) {
  Json greeting = order;
  greeting["pid"] = ::getpid();
  greeting["parent"] = ::getppid();
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  greeting["child_signal"] = sigismember(&blocked, SIGCHLD) == 1 ? "blocked" : "free";
  if (!channel.send(greeting).ok()) return;
  while (true) {
    auto message = channel.receive();
    if (!message.ok()) return;
    if (message->body == "crash") std::abort();
    while (message->body == "hang") ::pause();
    if (message->body == "say" && ::write(STDERR_FILENO, "said\n", 5) != 5) return;
    if (message->body == "fork") {
      const pid_t started = ::fork();
      while (started == 0) ::pause();
      message->body = started;
    }
    if (!channel.send(message->body).ok()) return;
  }
}

int be_zygote(int descriptor) {
  end_with_parent();
  run_zygote(Channel(Descriptor(descriptor)), serve);
  return 0;
}

int be_gone(int descriptor, bool refusing) {
  Channel channel{Descriptor(descriptor)};
  const Status sent =
      refusing ? send(channel, ZygoteRefused{"there will be no worker"}) : send(channel, WorkerProcessEnded{7, 0, {}});
  return sent.ok() ? 0 : 1;
}

}  // namespace
}  // namespace mneme

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string_view("--zygote")) return mneme::be_zygote(std::atoi(argv[2]));
  if (argc == 3 && (argv[1] == std::string_view("--gone") || argv[1] == std::string_view("--refusing")))
    return mneme::be_gone(std::atoi(argv[2]), argv[1] == std::string_view("--refusing"));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
