#include "mneme/base/byte_source.h"

#include <cerrno>

#include "mneme/base/descriptor.h"
#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(Descriptor file, Path path) : file_(std::move(file)), path_(std::move(path)) {}

  Result<size_t> read(MutableByteSpan into) override {
    size_t count = 0;
    while (count < into.size()) {
      const ssize_t got = ::read(file_.number(), into.data() + count, into.size() - count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, "reading", path_);
      if (got == 0) break;
      count += static_cast<size_t>(got);
    }
    return count;
  }

 private:
  const Descriptor file_;
  const Path path_;
};

Result<std::unique_ptr<ByteSource>> source_of(Descriptor file, const Path& path) {
  if (!file.open()) return system_error(errno, "opening", path);
  return std::unique_ptr<ByteSource>(new DescriptorSource(std::move(file), path));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_byte_source(const Path& path) {
  return source_of(Descriptor(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC)), path);
}

Result<std::unique_ptr<ByteSource>> standard_input() {
  return source_of(Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)), "standard input");
}

}  // namespace mneme
