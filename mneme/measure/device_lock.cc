#include "mneme/measure/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "mneme/base/log.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

Status refused(const fs::path& path, std::string_view why) { return error(Code::io, "{}: {}", path.string(), why); }
Status refused(const fs::path& path, int reason) { return refused(path, std::strerror(reason)); }

// CUDA writes PCI addresses with capitals, sysfs without.
std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The names in a folder that others can write to may be anything: such a one is not used.
Result<Descriptor> open_own_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return refused(path, errno);
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!folder.open() || ::fstat(folder.number(), &info) != 0) return refused(path, errno);
  if (info.st_uid != ::geteuid()) return refused(path, "the folder is somebody else's: remove it");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refused(path, "others may write to the folder: chmod 700 it");
  return folder;
}

// A mode is given only to what is made here.
Result<Descriptor> open_lock_file(const fs::path& folder, const std::string& name) {
  MNEME_ASSIGN(const Descriptor own, open_own_folder(folder));
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor file(::openat(own.number(), name.c_str(), kFlags, 0600));
  struct stat info{};
  if (!file.open() || ::fstat(file.number(), &info) != 0) return refused(folder / name, errno);
  if (!S_ISREG(info.st_mode) || info.st_nlink > 1)
    return refused(folder / name, "it is no file of one name, as a lock is: remove it");
  return file;
}

Result<Descriptor> open_lock(const std::string& hardware_id, const LockPlaces& places) {
  std::string name = lower_case(hardware_id);
  Descriptor device(::open((places.devices / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (device.open()) return device;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == ':' || c == '/'; }, '-');
  return open_lock_file(places.files, fmt::format("device-{}.lock", name));
}

bool is_file(const Descriptor& lock) {
  struct stat info{};
  return ::fstat(lock.number(), &info) == 0 && S_ISREG(info.st_mode);
}

// Of a folder, the system's table of locks tells it, where that shows the process.
std::string holder_of_folder(const Descriptor& lock) {
  struct stat info{};
  if (::fstat(lock.number(), &info) != 0) return "another process";
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream table("/proc/locks");
  std::string number, kind, advisory, access, process, where, rest;
  while (table >> number >> kind >> advisory >> access >> process >> where && std::getline(table, rest))
    if (kind == "FLOCK" && where == place && process != "0" && process[0] != '-') return "process " + process;
  return "another process";
}

std::string holder_of(const Descriptor& lock) {
  if (!is_file(lock)) return holder_of_folder(lock);
  char text[32] = {};
  return ::pread(lock.number(), text, sizeof text - 1, 0) > 0 ? fmt::format("process {}", text) : "another process";
}

void write_holder(const Descriptor& lock) {
  const std::string text = std::to_string(::getpid());
  if (is_file(lock) && ::ftruncate(lock.number(), 0) == 0) [[maybe_unused]]
    auto ignored = ::pwrite(lock.number(), text.data(), text.size(), 0);
}

// Whether the locked file still has a name: what cleans a temporary folder may have removed it before it was locked.
bool has_name(const Descriptor& lock) {
  struct stat info{};
  return ::fstat(lock.number(), &info) == 0 && info.st_nlink != 0;
}

Result<Descriptor> wait_for_lock(const std::string& hardware_id, const LockPlaces& places) {
  for (;;) {
    MNEME_ASSIGN(Descriptor lock, open_lock(hardware_id, places));
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        log::info("waiting for the device {}, on which {} runs kernels (--shared-device does not wait)", hardware_id,
                  holder_of(lock));
      while (::flock(lock.number(), LOCK_EX) != 0)
        if (errno != EINTR) return error(Code::io, "{}", std::strerror(errno));
    }
    if (has_name(lock)) return lock;
  }
}

}  // namespace

// Not $TMPDIR: all processes of the user must find the same folder.
LockPlaces LockPlaces::of_this_machine() { return {"/sys/bus/pci/devices", fmt::format("/tmp/mneme-{}", ::geteuid())}; }

Result<DeviceLock> DeviceLock::acquire(const std::string& hardware_id, const LockPlaces& places) {
  auto lock = wait_for_lock(hardware_id, places);
  if (lock.ok()) {
    write_holder(*lock);
    return DeviceLock(std::move(*lock));
  }
  return error(Code::io, "locking the device {}: {}; --shared-device runs without the lock", hardware_id,
               lock.status().message());
}

Result<DeviceLock> DeviceLock::acquire(const DeviceProperties& device) {
  if (device.hardware_id.empty()) return DeviceLock();
  return acquire(device.hardware_id);
}

}  // namespace mneme
