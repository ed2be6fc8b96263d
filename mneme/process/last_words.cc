#include "mneme/process/last_words.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

namespace mneme {
namespace {

// Of a file that a worker writes, objects included.
constexpr rlim_t kLargestFile = rlim_t{1} << 30;
constexpr size_t kLooked = 16384;
constexpr size_t kLongest = 300;

// What the file of a worker that notes its jobs begins with, mapped into its memory: to note one takes a store.
struct Note {
  std::array<char, 8> mark;
  std::atomic<uint64_t> job;
};
static_assert(sizeof(Note) == 16 && std::atomic<uint64_t>::is_always_lock_free);
// Who writes text for people does not begin like this.
constexpr std::array<char, 8> kMark = {'\2', 'j', 'o', 'b', '\0', '\0', '\0', '\n'};

bool diverted = false;
Note* note = nullptr;  // of this process, once it has noted a job

Note* map_note() {
  if (::ftruncate(STDERR_FILENO, sizeof(Note)) != 0) return nullptr;
  void* page = ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED, STDERR_FILENO, 0);
  if (page == MAP_FAILED) return nullptr;
  Note* mapped = new (page) Note{kMark, 0};
  return mapped;
}

// Forgets what was said. The note stays: nothing is mapped where the file has ended.
void forget_words() {
  const off_t kept = note != nullptr ? sizeof(Note) : 0;
  struct stat now{};
  if (::fstat(STDERR_FILENO, &now) == 0 && now.st_size == kept) return;
  [[maybe_unused]] int ignored = ::ftruncate(STDERR_FILENO, kept);
}

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
  if (diverted) forget_words();
}

bool LastWords::begin_job(uint64_t job) {
  if (!diverted) return false;
  if (note == nullptr) note = map_note();
  if (note == nullptr) return false;
  forget_words();
  note->job.store(job, std::memory_order_release);
  return true;
}

uint64_t LastWords::job() const {
  struct {
    std::array<char, 8> mark;
    uint64_t job;
  } read{};
  const bool whole = file_.open() && ::pread(file_.number(), &read, sizeof read, 0) == sizeof read;
  return whole && read.mark == kMark ? read.job : 0;
}

std::string LastWords::tail(size_t longest) const {
  const size_t first = job() != 0 ? sizeof(Note) : 0;
  const off_t size = file_.open() ? ::lseek(file_.number(), 0, SEEK_END) : 0;
  std::string text(std::min(static_cast<size_t>(std::max<off_t>(size - static_cast<off_t>(first), 0)), longest), '\0');
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
