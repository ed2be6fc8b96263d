#include "mneme/snapshot/profile_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "mneme/base/memory_file.h"
#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

constexpr const char* kName = "mneme-profile";
// Around each profile. No JSON has them, and no name of a writer.
constexpr char kBegin = '\x01', kEnd = '\0';

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
  std::map<std::string, std::string_view> told;  // by writer
  for (size_t begin = 0, end; (end = text.find(kEnd, begin)) != std::string_view::npos; begin = end + 1) {
    // What is before the last beginning is of a process that was killed while it wrote.
    std::string_view piece = text.substr(begin, end - begin);
    piece.remove_prefix(piece.rfind(kBegin) + 1);
    const size_t name = piece.find('\n');
    if (name != std::string_view::npos) told[std::string(piece.substr(0, name))] = piece.substr(name + 1);
  }
  LaunchProfile sum;
  for (const auto& [writer, profile] : told) {
    MNEME_ASSIGN(const LaunchProfile one, decode_launch_profile(profile, "the program's profile"));
    sum.add(one);
  }
  return sum;
}

Status append_profile(int descriptor, const std::string& writer, const LaunchProfile& profile) {
  std::error_code failure;
  const Path place = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), failure);
  if (!place.string().starts_with(fmt::format("/memfd:{}", kName)))
    return error(Code::invalid_argument, "file descriptor {} leads to no profile: the program has closed it", descriptor);
  const std::string text = kBegin + writer + "\n" + encode_launch_profile(profile) + kEnd;
  return write_all(descriptor, std::as_bytes(std::span(text)), place);
}

}  // namespace mneme
