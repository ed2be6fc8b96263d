#include "mneme/snapshot/profile_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mneme/base/memory_file.h"
#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

constexpr const char* kName = "mneme-profile";
constexpr char kEnd = '\0';  // behind each profile

}  // namespace

Result<ProfileFile> ProfileFile::create() {
  Descriptor file(::memfd_create(kName, 0));
  // Each addition goes to the end, whichever process makes it.
  if (!file.open() || ::fcntl(file.number(), F_SETFL, O_APPEND) != 0)
    return error(Code::io, "making a file in memory for the profile: {}", std::strerror(errno));
  return ProfileFile(std::move(file));
}

Result<LaunchProfile> ProfileFile::sum() const {
  MNEME_ASSIGN(const ByteVector bytes, read_whole(descriptor()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  LaunchProfile sum;
  // A process that was killed while it added its profile has left no end behind it.
  for (size_t begin = 0, end; (end = text.find(kEnd, begin)) != std::string_view::npos; begin = end + 1) {
    MNEME_ASSIGN(const LaunchProfile one, decode_launch_profile(text.substr(begin, end - begin), "the program's profile"));
    sum.add(one);
  }
  return sum;
}

Status append_profile(int descriptor, const LaunchProfile& profile) {
  std::error_code failure;
  const Path place = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), failure);
  if (!place.string().starts_with(fmt::format("/memfd:{}", kName)))
    return error(Code::invalid_argument, "file descriptor {} leads to no profile: the program has closed it", descriptor);
  const std::string text = encode_launch_profile(profile) + kEnd;
  return write_all(descriptor, std::as_bytes(std::span(text)), place);
}

}  // namespace mneme
