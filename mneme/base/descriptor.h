// Descriptor: owns a file descriptor and closes it. One that owns none has the number -1.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace mneme {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

// Makes the process's table of descriptors large enough for `count` of them, or for as many as the process may have. To be called
// before there is work: once a process has threads, Linux grows the table only after it has waited for every processor, which
// takes some 20 ms where all are busy.
inline void reserve_descriptors(rlim_t count) {
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return;
  Descriptor any(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  // The table stays as large as it was for the last of them.
  Descriptor last(::fcntl(any.number(), F_DUPFD_CLOEXEC, static_cast<int>(std::min(count, most.rlim_cur)) - 1));
}

}  // namespace mneme
