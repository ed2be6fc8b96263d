// What is no regular file, files that change while they are read, and where what is written goes.
#include "mneme/base/file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "mneme/base/descriptor.h"
#include "mneme/base/output_file.h"
#include "mneme/base/pending_file.h"
#include "mneme/base/regular_file.h"
#include "mneme/base/testing/failing_system_calls.h"
#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

using testing::HasSubstr;

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string contents(const Path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const Path& path, std::string_view content) { std::ofstream(path, std::ios::binary) << content; }

class Files : public testing::Test {
 protected:
  Path path(const std::string& name) const { return folder_ / name; }

  // One of each kind of what is no regular file and can be made here, with the words for it.
  std::vector<std::pair<Path, std::string>> make_special() const {
    EXPECT_EQ(::mkfifo(path("fifo").c_str(), 0666), 0);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path("socket").c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::vector<std::pair<Path, std::string>> made = {{path("fifo"), "a FIFO"}, {path("socket"), "a socket"}};
    if (::mknod(path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0) made.emplace_back(path("null"), "a device");
    return made;
  }
  std::vector<std::string> names() const { return *files_.list(folder_); }

  FileSystem& files_ = FileSystem::posix();
  const TemporaryDirectory directory_;
  const Path& folder_ = directory_.path();
};

// Without the refusal most of these wait for ever.
TEST_F(Files, WhatIsNoRegularFileIsRefusedByItsKind) {
  for (const auto& [file, kind] : make_special()) {
    const std::string reason =
        file.string() + ": it is " + kind + ", where a regular file is needed: remove it, or name another file";
    EXPECT_EQ(files_.open(file).status().to_string(), "io: opening " + reason);
    EXPECT_EQ(files_.read(file).status().to_string(), "io: opening " + reason);
    EXPECT_EQ(files_.create(file).status().to_string(), "io: creating " + reason);
    EXPECT_EQ(files_.lock(file).status().to_string(), "io: opening the lock " + reason);
    EXPECT_EQ(files_.write_atomically(file, bytes_of("x")).to_string(), "io: writing " + reason);
    EXPECT_FALSE(std::filesystem::is_regular_file(file));
  }
  EXPECT_EQ(files_.read(folder_).status().to_string(), "io: opening " + folder_.string() + ": Is a directory");
  EXPECT_EQ(files_.read(path("none")).status().to_string(),
            "not_found: opening " + path("none").string() + ": No such file or directory");
}

TEST_F(Files, ALockThatIsALinkMakesAndTouchesNoOtherFile) {
  write(path("other"), "content");
  std::filesystem::create_symlink("missing", path("dangling"));
  std::filesystem::create_symlink("other", path("link"));
  for (const char* name : {"dangling", "link"})
    EXPECT_EQ(files_.lock(path(name)).status().to_string(),
              "io: opening the lock " + path(name).string() +
                  ": it is a symbolic link, where a regular file is needed: remove it, or name another file");
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
  EXPECT_FALSE(files_.create(path("link")).ok());
  EXPECT_EQ(contents(path("other")), "content");
}

TEST_F(Files, AFileThatIsCutShortMeanwhileIsAnError) {
  const std::string whole(1 << 20, 'x');
  write(path("file"), whole);
  auto file = *files_.open(path("file"));
  EXPECT_EQ(file->size(), 1_MiB);
  std::filesystem::resize_file(path("file"), 100);
  ByteVector bytes(50);
  EXPECT_TRUE(file->read(20, bytes).ok());
  EXPECT_EQ(file->read(70, bytes).to_string(), "corrupt: " + path("file").string() +
                                                   ": offset 100: the file ends there, where 20 more bytes were expected: it was "
                                                   "cut short");
  EXPECT_EQ(file->read_range(0, file->size()).status().code(), Code::corrupt);
}

// The signal that goes with it would end the process.
TEST_F(Files, ALimitOnTheSizeOfFilesIsAnError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto file = files_.create(path("file"));
  const ByteVector bytes(10'000);
  const Status status = file.ok() ? (*file)->append(bytes) : file.status();
  const Status again = file.ok() ? (*file)->append(bytes) : file.status();
  ::setrlimit(RLIMIT_FSIZE, &before);
  for (const Status& each : {status, again})
    EXPECT_EQ(each.to_string(), "io: writing " + path("file").string() + ": File too large");
}

// As on a disk that is full for a moment.
TEST_F(Files, WhatWasNotAppendedWholeLeavesNoPart) {
  auto file = *files_.create(path("file"));
  ASSERT_TRUE(file->append(bytes_of("before")).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = file->append(ByteVector(10'000));
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), Code::io);
  ASSERT_TRUE(file->append(bytes_of(" and after")).ok());
  const auto found = files_.read(path("file"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(found->data()), found->size()), "before and after");
}

// Its signals are the program's own: one that waits for it stays, and none is held back afterwards.
TEST_F(Files, AWriteLeavesTheProgramsSignalsAsTheyAre) {
  sigset_t limit, before, after, waiting;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  ASSERT_EQ(::pthread_sigmask(SIG_UNBLOCK, &limit, &before), 0);
  ASSERT_TRUE((*files_.create(path("file")))->append(bytes_of("x")).ok());
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &limit, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGXFSZ), 0);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  auto file = files_.create(path("other"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const Status status = (*file)->append(bytes_of("x"));
  ::setrlimit(RLIMIT_FSIZE, &usual);
  EXPECT_EQ(status.code(), Code::io);
  ::sigpending(&waiting);
  EXPECT_EQ(sigismember(&waiting, SIGXFSZ), 1) << "the program held it back itself, and will look for it";
  const timespec now{};
  ::sigtimedwait(&limit, nullptr, &now);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// umask(2) says who may read what a program writes.
TEST_F(Files, WhoMayReadAFileIsForTheProgramToSay) {
  const mode_t usual = ::umask(0);
  for (mode_t mask : {0, 022, 077}) {
    ::umask(mask);
    ASSERT_TRUE(files_.create(path("made")).ok());
    ASSERT_TRUE(files_.lock(path("lock")).ok());
    ASSERT_TRUE(files_.write_atomically(path("written"), bytes_of("x")).ok());
    for (const char* name : {"made", "lock", "written"}) {
      struct stat info{};
      ASSERT_EQ(::stat(path(name).c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask) << name;
      std::filesystem::remove(path(name));
    }
  }
  ::umask(usual);
}

TEST_F(Files, AFullQuotaIsAFullDisk) {
  for (int code : {ENOSPC, EDQUOT}) EXPECT_EQ(system_error(code, "writing", "x").code(), Code::exhausted);
  EXPECT_EQ(system_error(ENOENT, "opening", "x").to_string(), "not_found: opening x: No such file or directory");
  EXPECT_EQ(system_error(EIO, "reading", "x").to_string(), "io: reading x: Input/output error");
}

TEST_F(Files, NamesAreListedInOrder) {
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    expected.push_back(fmt::format("{:02}", i * 37 % 100));
    write(path(expected.back()), "");
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names(), expected);
}

// A file that is nearly all hole takes no disk, and would take all memory.
TEST_F(Files, AFileThatIsLargerThanMemoryIsRefused) {
  write(path("file"), "x");
  std::filesystem::resize_file(path("file"), uint64_t{1} << 43);
  EXPECT_THAT(files_.read(path("file")).status().to_string(),
              testing::MatchesRegex("exhausted: reading " + path("file").string() +
                                    ": 8.00 TiB do not fit in the machine's memory of [0-9.]+ [GMT]iB"));
}

TEST_F(Files, WritingAtomicallyReplacesALinkAndNotItsTarget) {
  write(path("other"), "content");
  std::filesystem::create_symlink("other", path("link"));
  ASSERT_TRUE(files_.write_atomically(path("link"), bytes_of("new")).ok());
  EXPECT_EQ(contents(path("other")), "content");
  EXPECT_EQ(contents(path("link")), "new");
}

TEST_F(Files, WritingAtomicallyNeedsNoFolderInTheName) {
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const Status status = files_.write_atomically("file", bytes_of("new"));
  std::filesystem::current_path(before);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(contents(path("file")), "new");
}

// Whoever removes left-overs may come at any moment.
TEST_F(Files, WhatIsWrittenAtomicallyIsLockedUntilItHasItsName) {
  auto files = faulty_file_system(files_, [&](std::string_view operation, const Path&, uint64_t) {
    if (operation == "rename")
      for (const std::string& name : names()) EXPECT_TRUE(files_.remove_unused(path(name)).ok()) << name;
    return Status();
  });
  const Status status = files->write_atomically(path("file"), bytes_of("new"));
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(contents(path("file")), "new");
}

TEST_F(Files, AFailureWhileWritingAtomicallyLeavesTheOldFileAlone) {
  write(path("file"), "old");
  for (std::string_view broken : {"append", "sync", "rename"}) {
    auto files = faulty_file_system(files_, [&](std::string_view operation, const Path&, uint64_t) {
      return operation == broken ? error(Code::exhausted, "scripted") : Status();
    });
    EXPECT_EQ(files->write_atomically(path("file"), bytes_of("new")).to_string(), "exhausted: scripted") << broken;
    EXPECT_EQ(contents(path("file")), "old") << broken;
    EXPECT_THAT(names(), testing::ElementsAre("file")) << broken;
  }
}

TEST_F(Files, SeveralAreSyncedTogetherAndEachHasItsStatus) {
  struct File : UnsyncedFile {
    Status sync() override { return ++synced, status; }
    Status status;
    std::atomic<int> synced = 0;
  };
  std::vector<File> all(50);
  all[7].status = error(Code::io, "seven");
  all[49].status = error(Code::exhausted, "the last");
  std::vector<UnsyncedFile*> files;
  for (File& file : all) files.push_back(&file);
  const std::vector<Status> statuses = files_.sync_all(files);
  ASSERT_EQ(statuses.size(), files.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(statuses[i].to_string(), all[i].status.to_string()) << i;
    EXPECT_EQ(all[i].synced, 1) << i;
  }
  EXPECT_TRUE(files_.sync_all({}).empty());
}

TEST_F(Files, APendingFileTakesItsPlaceOrLeavesNothing) {
  write(path("file"), "old");
  {
    auto pending = PendingFile::write(files_, path("file"), bytes_of("new"));
    ASSERT_TRUE(pending.ok()) << pending.status().to_string();
    EXPECT_EQ(names().size(), 2u);
    PendingFile moved = std::move(*pending);
    EXPECT_EQ(contents(path("file")), "old");
  }
  EXPECT_THAT(names(), testing::ElementsAre("file"));
  auto pending = PendingFile::write(files_, path("file"), bytes_of("new"));
  EXPECT_TRUE(pending->file().sync().ok());
  EXPECT_TRUE(pending->take_place().ok());
  EXPECT_EQ(contents(path("file")), "new");
  EXPECT_THAT(names(), testing::ElementsAre("file"));
}

// Its status, as waitpid() gives it.
int status_of_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// What write() is ok for may still be in the machine's memory alone.
TEST_F(Files, ADiskThatDoesNotTakeWhatWasWrittenIsAnError) {
  write(path("changed"), "content");
  const auto in_a_process = [&](const std::function<bool()>& as_told) {
    return status_of_process([&] {
      testing_base::fail_system_calls({SYS_fsync, SYS_fdatasync}, EIO);
      return as_told() ? 0 : 1;
    });
  };
  const auto told = [](const Status& status, const Path& of) {
    return status.to_string() == "io: syncing " + of.string() + ": Input/output error";
  };
  if (WEXITSTATUS(in_a_process([] { return true; })) == testing_base::kCannotFail)
    GTEST_SKIP() << "no system call can be made to fail here";
  EXPECT_EQ(in_a_process([&] { return told((*files_.create(path("made")))->sync(), path("made")); }), 0);
  EXPECT_EQ(in_a_process([&] { return told((*files_.open_to_change(path("changed")))->sync(), path("changed")); }), 0);
  EXPECT_EQ(in_a_process([&] { return told(files_.sync_directory(folder_), folder_); }), 0);
}

// A sync at the end of much would else wait for all of it.
TEST_F(Files, TheDiskBeginsWithWhatWasAppendedBeforeItIsSynced) {
  const ByteVector mebibyte(1 << 20, std::byte{7});
  const auto append = [&](int mebibytes) {
    auto file = files_.create(path("made"));
    if (!file.ok()) return 1;
    for (int i = 0; i < mebibytes; ++i)
      if (!(*file)->append(mebibyte).ok()) return 1;
    return (*file)->sync().ok() ? 0 : 1;
  };
  const auto in_a_process = [&](int mebibytes) {
    return status_of_process([&] {
      testing_base::end_at_system_calls({SYS_sync_file_range});
      return append(mebibytes);
    });
  };
  const int little = in_a_process(3), much = in_a_process(4);
  if (WEXITSTATUS(little) == testing_base::kCannotFail) GTEST_SKIP() << "no system call can be looked for here";
  EXPECT_EQ(little, 0) << "a small file is the sync's alone";
  EXPECT_TRUE(WIFSIGNALED(much) && WTERMSIG(much) == SIGSYS) << much;
  EXPECT_EQ(status_of_process([&] {
              testing_base::fail_system_calls({SYS_sync_file_range}, EIO);
              return append(9);
            }),
            0)
      << "whether it is on the disk is what sync() tells";
}

TEST_F(Files, AnOutputGoesToTheTargetOfItsLink) {
  std::filesystem::create_directory(path("elsewhere"));
  write(path("elsewhere") / "file", "old");
  std::filesystem::create_symlink("elsewhere/file", path("link"));
  std::filesystem::create_symlink("link", path("second"));
  std::filesystem::create_symlink("elsewhere/made", path("dangling"));
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_TRUE(write_output_file(path("second"), bytes_of("new")).ok());
  EXPECT_TRUE(write_output_file(path("dangling"), bytes_of("made")).ok());
  EXPECT_EQ(contents(path("elsewhere") / "file"), "new");
  EXPECT_EQ(contents(path("elsewhere") / "made"), "made");
  for (const char* link : {"link", "second", "dangling"}) EXPECT_TRUE(std::filesystem::is_symlink(path(link))) << link;
  EXPECT_EQ(write_output_file(path("circle"), bytes_of("x")).to_string(),
            "io: following the link " + path("circle").string() + ": Too many levels of symbolic links");
  EXPECT_THAT(*files_.list(path("elsewhere")), testing::ElementsAre("file", "made"));
}

TEST_F(Files, ThatAnOutputsFolderIsMissingIsKnownBeforehand) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("folder/out", path("good"));
  std::filesystem::create_symlink("nowhere/out", path("bad"));
  for (const Path& there : {Path("out"), path("out"), path("folder") / "out", path("good")})
    EXPECT_TRUE(check_output_file(there).ok()) << there;
  EXPECT_EQ(check_output_file(path("bad")).to_string(),
            "not_found: writing " + path("bad").string() + ": there is no folder " + path("nowhere").string());
}

TEST_F(Files, AnOutputIsWrittenToADeviceAndAFifoAsTheyAre) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0666), 0);
  std::string heard;
  std::thread reader([&] { heard = contents(path("fifo")); });
  EXPECT_TRUE(write_output_file(path("fifo"), bytes_of("told")).ok());
  reader.join();
  EXPECT_EQ(heard, "told");
  EXPECT_TRUE(std::filesystem::is_fifo(path("fifo")));
  EXPECT_THAT(names(), testing::ElementsAre("fifo"));
}

// A node of the test's own: it is not the machine's that a failure replaces.
TEST_F(Files, ADeviceIsNeverReplacedByAFile) {
  if (::mknod(path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "making a device node: " << std::strerror(errno);
  EXPECT_TRUE(write_output_file(path("null"), bytes_of("x")).ok());
  EXPECT_TRUE(std::filesystem::is_character_file(path("null")));
  std::filesystem::create_symlink("null", path("link"));
  EXPECT_TRUE(write_output_file(path("link"), bytes_of("x")).ok());
  EXPECT_TRUE(std::filesystem::is_character_file(path("null")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  ASSERT_EQ(::mknod(path("full").c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  EXPECT_EQ(write_output_file(path("full"), bytes_of("x")).to_string(),
            "exhausted: writing " + path("full").string() + ": No space left on device");
}

// Whoever is told that a file is there finds it after a loss of power too: its content first, and then its name.
TEST_F(Files, WhatIsWrittenAtomicallyIsOnTheDiskBeforeItsNameIs) {
  std::vector<std::string> done;
  auto files = faulty_file_system(files_, [&](std::string_view operation, const Path& of, uint64_t) {
    done.push_back(operation == "sync_directory" ? fmt::format("{} {}", operation, of.string()) : std::string(operation));
    return Status();
  });
  ASSERT_TRUE(files->write_atomically(path("file"), bytes_of("new")).ok());
  EXPECT_THAT(done, testing::ElementsAre("create", "append", "sync", "rename", "close",
                                         "sync_directory " + path("file").parent_path().string()));
}

}  // namespace
}  // namespace mneme
