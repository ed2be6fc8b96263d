#include "mneme/base/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mneme/base/regular_file.h"

namespace mneme {

Result<Descriptor> make_memory_file(const char* name, ByteSpan bytes) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.open()) return error(Code::exhausted, "making a file in memory ({}): {}", name, std::strerror(errno));
  MNEME_TRY(write_all(file.number(), bytes, name));
  return file;
}

Result<ByteVector> read_whole(int descriptor) {
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return error(Code::io, "reading descriptor {}: {}", descriptor, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return error(Code::io, "reading descriptor {}: it is no regular file", descriptor);
  ByteVector bytes(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error(Code::io, "reading descriptor {}: {}", descriptor, std::strerror(errno));
    if (count == 0) bytes.resize(done);
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace mneme
