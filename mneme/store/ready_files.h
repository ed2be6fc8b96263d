// ReadyFiles: the temporary files of launches, made before they are needed. Not for other rooms.
//
// Each launch that is recorded needs three. While a disk is synced, which it is most of the time then, the system takes up to
// some milliseconds to make one, and some microseconds otherwise (bench/RESULTS.md, "Files that are made ahead"). So a thread
// makes them ahead, once several were taken. Thread-safe.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/file_system.h"

namespace mneme {

class ReadyFiles {
 public:
  enum class Kind { pack, prologue, epilogue };
  // Of each kind the file that create_temporary() is to be given.
  ReadyFiles(FileSystem& files, std::array<Path, 3> targets);
  ~ReadyFiles();  // removes what nobody has taken
  ReadyFiles(const ReadyFiles&) = delete;
  ReadyFiles& operator=(const ReadyFiles&) = delete;

  // Made now where none is ready.
  Result<TemporaryFile> take(Kind kind);

 private:
  size_t wanted(size_t kind) const;  // under the mutex, as the next three
  bool is_short() const;
  std::optional<size_t> kind_to_make() const;
  void start();
  void run();  // until the thread ends
  std::optional<TemporaryFile> make(size_t kind);

  FileSystem& files_;
  const std::array<Path, 3> targets_;
  const size_t most_;  // that are ready, of a kind
  std::mutex mutex_;   // over everything below
  std::condition_variable changed_;
  std::array<std::vector<TemporaryFile>, 3> ready_;  // which have room for all, so that nothing is thrown in the thread
  std::array<size_t, 3> taken_{};
  bool running_ = false, stopping_ = false;
};

}  // namespace mneme
