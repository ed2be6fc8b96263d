#include "mneme/process/last_words.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mneme {
namespace {

// Of a file that a worker writes, objects included.
constexpr rlim_t kLargestFile = rlim_t{1} << 30;
constexpr size_t kLooked = 16384;
constexpr size_t kLongest = 300;

bool diverted = false;

}  // namespace

Result<LastWords> LastWords::create() {
  Descriptor file(::memfd_create("mneme-standard-error", MFD_CLOEXEC));
  if (!file.open()) return error(Code::exhausted, "making memory for what a worker says: {}", std::strerror(errno));
  ::fcntl(file.number(), F_SETFL, O_APPEND);
  return LastWords(std::move(file));
}

void LastWords::divert_to(const Descriptor& file) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{kLargestFile, kLargestFile};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  diverted = ::dup2(file.number(), STDERR_FILENO) == STDERR_FILENO;
}

void LastWords::begin_job() {
  if (diverted) [[maybe_unused]]
    int ignored = ::ftruncate(STDERR_FILENO, 0);
}

std::string LastWords::tail(size_t longest) const {
  const off_t size = file_.open() ? ::lseek(file_.number(), 0, SEEK_END) : 0;
  std::string text(std::min(static_cast<size_t>(std::max<off_t>(size, 0)), longest), '\0');
  const ssize_t count =
      text.empty() ? 0 : ::pread(file_.number(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

std::string LastWords::read() const { return telling_line(tail(kLooked)); }

std::string telling_line(const std::string& text) {
  std::string told, last;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, stop - at);
    at = stop + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    for (const char* sign : {"LLVM ERROR", "Assertion", "terminate called", "fatal error"})
      if (told.empty() && line.find(sign) != std::string::npos) told = line;
  }
  std::string line = told.empty() ? last : told;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';  // it goes into JSON
  return line.substr(0, kLongest);
}

}  // namespace mneme
