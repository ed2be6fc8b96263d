#include "mneme/measure/device_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;

constexpr const char* kAddress = "0000:1B:00.0";

class DeviceLockTest : public testing::Test {
 protected:
  void SetUp() override {
    places_ = {folder_ / "devices", folder_ / "files"};
    fs::create_directory(places_.devices);
  }
  fs::path lock_file() const { return places_.files / "device-0000-1b-00.0.lock"; }
  std::string refusal() const { return DeviceLock::acquire(kAddress, places_).status().to_string(); }
  static std::string words(const fs::path& path, const std::string& why) {
    return fmt::format("io: locking the device {}: {}: {}; --shared-device runs without the lock", kAddress, path.string(), why);
  }
  void make_own_folder() const {
    fs::create_directory(places_.files);
    fs::permissions(places_.files, fs::perms::owner_all);
  }

  // What acquire() says while a child has the lock, which gives it back once this process waits.
  std::string told_while_held(const std::function<void()>& before_release = {}) {
    int locked[2], release[2];
    EXPECT_EQ(::pipe(locked), 0);
    EXPECT_EQ(::pipe(release), 0);
    child_ = ::fork();
    if (child_ == 0) {
      auto lock = DeviceLock::acquire(kAddress, places_);
      char byte = lock.ok() ? 'y' : 'n';
      if (::write(locked[1], &byte, 1) != 1 || ::read(release[0], &byte, 1) != 1) ::_exit(2);
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(locked[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    testing::internal::CaptureStderr();
    std::thread releaser([&] {
      wait_until_somebody_waits();
      if (before_release) before_release();
      [[maybe_unused]] auto ignored = ::write(release[1], "x", 1);
    });
    auto lock = DeviceLock::acquire(kAddress, places_);
    releaser.join();
    EXPECT_TRUE(lock.ok());
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
    for (int end : {locked[0], locked[1], release[0], release[1]}) ::close(end);
    return testing::internal::GetCapturedStderr();
  }
  static std::string waiting_for(const std::string& holder) {
    return fmt::format("mneme: waiting for the device {}, on which {} runs kernels (--shared-device does not wait)\n", kAddress,
                       holder);
  }

  const TemporaryDirectory directory_;
  const fs::path& folder_ = directory_.path();
  LockPlaces places_;
  pid_t child_ = 0;

 private:
  // As the system's table of locks tells it: "7: -> FLOCK  ADVISORY  WRITE <this process> …".
  static void wait_until_somebody_waits() {
    for (int tries = 0; tries < 400; ++tries) {  // where the table does not show it, two seconds have to do
      std::ifstream table("/proc/locks");
      for (std::string line; std::getline(table, line);)
        if (line.find("->") != std::string::npos && line.find(fmt::format(" {} ", ::getpid())) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

TEST_F(DeviceLockTest, IsOnTheDevicesFolderWhereThereIsOne) {
  fs::create_directory(places_.devices / "0000:1b:00.0");
  // Not every system and file system shows there who holds a lock.
  const std::string told = told_while_held();
  EXPECT_THAT(told, AnyOf(waiting_for("another process"), waiting_for(fmt::format("process {}", child_))));
  EXPECT_FALSE(fs::exists(places_.files)) << "a file was made too";
}

TEST_F(DeviceLockTest, IsOnAFileInTheUsersOwnFolderElse) {
  const std::string told = told_while_held();
  EXPECT_EQ(told, waiting_for(fmt::format("process {}", child_)));
  EXPECT_EQ(fs::status(places_.files).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(lock_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// As what cleans a temporary folder does. A process that comes later makes a new one, and has to find it locked.
TEST_F(DeviceLockTest, IsNotOnAFileThatWasRemovedWhileItWaited) {
  told_while_held([&] { fs::remove(lock_file()); });
  EXPECT_TRUE(fs::exists(lock_file()));
}

// Of some devices the id has a '/', which no file's name has.
TEST_F(DeviceLockTest, AnyIdNamesAFile) {
  auto lock = DeviceLock::acquire("Slot:A/0", places_);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_TRUE(fs::exists(places_.files / "device-slot-a-0.lock"));
}

TEST_F(DeviceLockTest, ADeviceWithoutHardwareNeedsNone) {
  auto lock = DeviceLock::acquire(DeviceProperties());
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_FALSE(*lock);
}

TEST_F(DeviceLockTest, WaitsOnAfterASignal) {
  struct sigaction action{}, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t waiting = ::pthread_self();
  told_while_held([&] {
    for (int i = 0; i < 20; ++i) ::pthread_kill(waiting, SIGUSR1), ::usleep(1000);
  });
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(DeviceLockTest, WritesItsHolderInPlaceOfTheOneBefore) {
  make_own_folder();
  std::ofstream(lock_file()) << "123456789012345";
  auto lock = DeviceLock::acquire(kAddress, places_);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  std::string holder;
  std::ifstream(lock_file()) >> holder;
  EXPECT_EQ(holder, std::to_string(::getpid()));
}

TEST_F(DeviceLockTest, GivesAModeOnlyToWhatItMakes) {
  make_own_folder();
  std::ofstream(lock_file()) << "content";
  fs::permissions(lock_file(), fs::perms::owner_all);
  EXPECT_TRUE(DeviceLock::acquire(kAddress, places_).ok());
  EXPECT_EQ(fs::status(lock_file()).permissions(), fs::perms::owner_all);
}

TEST_F(DeviceLockTest, IsNoLinkNoSecondNameAndNothingElse) {
  make_own_folder();
  const fs::path other = folder_ / "other";
  fs::create_symlink(other, lock_file());
  EXPECT_EQ(refusal(), words(lock_file(), "Too many levels of symbolic links"));
  EXPECT_FALSE(fs::exists(other)) << "the link's target was made";
  const std::string why = "it is no file of one name, as a lock is: remove it";
  fs::remove(lock_file());
  std::ofstream(other) << "content";
  fs::create_hard_link(other, lock_file());
  EXPECT_EQ(refusal(), words(lock_file(), why));
  EXPECT_EQ(fs::file_size(other), 7u);
  fs::remove(lock_file());
  ASSERT_EQ(::mkfifo(lock_file().c_str(), 0600), 0);
  EXPECT_EQ(refusal(), words(lock_file(), why));
}

TEST_F(DeviceLockTest, RefusesAFolderThatIsNotTheUsersAlone) {
  make_own_folder();
  for (fs::perms others :
       {fs::perms::all, fs::perms::owner_all | fs::perms::group_write, fs::perms::owner_all | fs::perms::others_write}) {
    fs::permissions(places_.files, others);
    EXPECT_EQ(refusal(), words(places_.files, "others may write to the folder: chmod 700 it"));
  }
  fs::remove(places_.files);
  fs::create_directory_symlink(places_.devices, places_.files);
  EXPECT_EQ(refusal(), words(places_.files, "Not a directory"));
  fs::remove(places_.files);
  make_own_folder();
  if (::chown(places_.files.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root gives a folder away";
  EXPECT_EQ(refusal(), words(places_.files, "the folder is somebody else's: remove it"));
}

TEST_F(DeviceLockTest, WithoutItsFileSaysWhatToDo) {
  places_.files = "/no-such-folder/below";
  EXPECT_EQ(refusal(), words(places_.files, "No such file or directory"));
}

}  // namespace
}  // namespace mneme
