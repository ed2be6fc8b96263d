#include "mneme/replay/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mneme/base/log.h"

namespace mneme {
namespace {

// Not $TMPDIR: all processes of the machine must find the same file.
constexpr const char* kLockDirectory = "/tmp";

// Creating is tried last: in a sticky directory, Linux refuses it for a file that another user has made.
int open_or_create(const std::filesystem::path& path) {
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0 || errno != ENOENT) return file;
  file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT, 0666);
  if (file >= 0) ::fchmod(file, 0666);  // whatever the umask: other users lock it too
  return file;
}

std::string holder_of(int file) {
  char text[32] = {};
  return ::pread(file, text, sizeof text - 1, 0) > 0 ? fmt::format("process {}", text) : "another process";
}

void write_holder(int file) {
  const std::string text = std::to_string(::getpid());
  if (::ftruncate(file, 0) == 0) [[maybe_unused]]
    auto ignored = ::pwrite(file, text.data(), text.size(), 0);
}

}  // namespace

Result<DeviceLock> DeviceLock::acquire(const std::string& hardware_id, const std::filesystem::path& directory) {
  std::string name = hardware_id;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == ':' || c == '/'; }, '-');
  const std::filesystem::path path = directory / fmt::format("mneme-device-{}.lock", name);
  const int file = open_or_create(path);
  if (file < 0)
    return error(Code::io, "locking the device {}: {}: {}; --shared-device runs without the lock", hardware_id, path.string(),
                 std::strerror(errno));
  DeviceLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    log::info("waiting for the device {}, on which {} runs kernels (--shared-device does not wait)", hardware_id,
              holder_of(file));
    while (::flock(file, LOCK_EX) != 0)
      if (errno != EINTR)
        return error(Code::io, "locking the device {}: {}: {}", hardware_id, path.string(), std::strerror(errno));
  }
  write_holder(file);
  return lock;
}

Result<DeviceLock> DeviceLock::acquire(const DeviceProperties& device) {
  if (device.hardware_id.empty()) return DeviceLock();
  return acquire(device.hardware_id, kLockDirectory);
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace mneme
