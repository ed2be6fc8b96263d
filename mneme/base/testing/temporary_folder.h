// A folder that a test has for itself.
#pragma once

#include <stdlib.h>

#include <filesystem>

namespace mneme {

// Makes an empty folder below /tmp, and removes it with all that is in it when the object goes.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char pattern[] = "/tmp/mneme-test-XXXXXX";
    path_ = ::mkdtemp(pattern);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mneme
