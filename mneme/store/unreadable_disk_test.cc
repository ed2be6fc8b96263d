// A database on a disk with blocks that cannot be read: a file system in a file that is cut short below it while it is mounted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "mneme/base/descriptor.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

class UnreadableDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
    std::filesystem::create_directory(disk());
    if (!run("truncate -s 32M " + image().string()) || !run("mkfs.ext4 -q -F -b 4096 -O ^has_journal " + image().string()))
      GTEST_SKIP() << "there is no mkfs.ext4 here";
    if (!mount()) GTEST_SKIP() << "no loop device can be mounted here";
  }
  void TearDown() override { ::umount2(disk().c_str(), MNT_DETACH); }

  Path disk() const { return directory_.path() / "disk"; }
  Path image() const { return directory_.path() / "image"; }
  bool mount() const { return run("mount -o loop " + image().string() + " " + disk().string()); }

  // Afterwards none of these files can be read; their names and all other files can. False: they lie elsewhere.
  bool lose(const std::vector<Path>& files) {
    leave_room_behind_the_cut();
    int tries = 0;
    for (const Path& file : files) {
      while (!lies_behind_the_cut(file)) {
        const Path low = disk() / fmt::format("low{}", tries);  // it stays, so that the next copy lies elsewhere
        if (++tries == 200 || !run(fmt::format("mv {0} {1} && cp {1} {0}", file.string(), low.string()))) return false;
      }
    }
    if (!run("umount " + disk().string()) || !mount()) return false;  // or their content would be remembered
    return run("ls -lR " + disk().string()) && run(fmt::format("truncate -s {} {}", kCut, image().string()));
  }

  TemporaryDirectory directory_;

 private:
  static constexpr uint64_t kCut = 16 << 20;

  static bool lies_behind_the_cut(const Path& file) {
    constexpr uint32_t kMostExtents = 64;
    alignas(fiemap) std::byte memory[sizeof(fiemap) + kMostExtents * sizeof(fiemap_extent)] = {};
    auto* map = reinterpret_cast<fiemap*>(memory);
    const auto* extents = reinterpret_cast<const fiemap_extent*>(map + 1);
    map->fm_length = ~uint64_t{0};
    map->fm_flags = FIEMAP_FLAG_SYNC;
    map->fm_extent_count = kMostExtents;
    Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (::ioctl(descriptor.number(), FS_IOC_FIEMAP, map) != 0) return false;
    return std::all_of(extents, extents + map->fm_mapped_extents,
                       [](const fiemap_extent& extent) { return extent.fe_physical >= kCut; });
  }

  // Fills the disk, and empties what lies there.
  void leave_room_behind_the_cut() const {
    std::vector<Path> fillers;
    const ByteVector content(128 << 10);
    for (bool room = true; room;) {
      std::ofstream out(fillers.emplace_back(disk() / fmt::format("filler{}", fillers.size())), std::ios::binary);
      out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
      room = static_cast<bool>(out.flush());
    }
    run("sync -f " + disk().string());
    for (const Path& filler : fillers)
      if (lies_behind_the_cut(filler)) std::filesystem::remove(filler);
    run("sync -f " + disk().string());
  }
};

TEST_F(UnreadableDisk, EveryFileIsNamedAndNoSignalEndsTheProcess) {
  const KernelRecord kernel = sample_kernel();
  const SampleMemory memory = sample_memory(1);
  std::map<std::string, Path> lost;
  Digest dynamic;
  for (const char* which : {"kernel", "ir", "state", "pack"}) {
    auto database = Database::create(disk() / which);
    ASSERT_TRUE(database.ok()) << database.status().to_string();
    dynamic = *publish_sample(*database, kernel, memory);
  }
  lost["kernel"] = disk() / "kernel" / kernel_file_name(kernel.static_hash);
  lost["ir"] = disk() / "ir" / ir_file_name(kernel.static_hash);
  lost["state"] = disk() / "state" / state_file_name(Moment::prologue, kernel.static_hash, dynamic);
  lost["pack"] = disk() / "pack" / "pages" / FileSystem::posix().list(disk() / "pack" / "pages")->front();
  std::vector<Path> files;
  for (const auto& [which, file] : lost) files.push_back(file);
  if (!lose(files)) GTEST_SKIP() << "the file system put the files where they can be read";
  for (const auto& [which, file] : lost) {
    auto database = Database::open(disk() / which);
    ASSERT_TRUE(database.ok()) << database.status().to_string();
    const Status status = database->check_instance(kernel.static_hash, dynamic);
    EXPECT_EQ(status.code(), Code::io) << status.to_string();
    EXPECT_THAT(status.message(), testing::HasSubstr(file.string()));
    EXPECT_THAT(status.message(), testing::HasSubstr("Input/output error"));
  }
  // Recording meets the same disk, in the recorded program: it is refused, or goes on without what is lost. It comes last, since
  // what it writes makes the image longer again.
  for (const auto& [which, file] : lost) {
    auto database = Database::create(disk() / which);
    if (database.ok()) [[maybe_unused]]
      auto published = publish_sample(*database, kernel, sample_memory(2));
  }
}

}  // namespace
}  // namespace mneme
