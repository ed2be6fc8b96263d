// Activity: what a process is doing for a replay, so that its parent can tell how long it has been at it.
//
// Code that may not come back says so with an ActivityScope. Where no parent watches, that costs two stores.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class Activity : uint8_t {
  working,    // reading, restoring, comparing: it ends, however much there is
  compiling,  // LLVM, the user's pipeline and plugins, the assembler
  loading,    // a device is opened, or given memory or code: one step of that
  running,    // one launch of a kernel
  timing,     // launches that nobody waits for one by one: a batch of timed ones, or those that warm up
  tracking,   // one launch of a kernel that notes its accesses
};

// "compiling"
std::string_view to_string(Activity activity);

// The process is at `activity` while one lives; then again at what it was at before. It may take `allowance` (in whole seconds,
// rounded up) longer than the activity's limit. Nested, and used by one thread of the process.
class ActivityScope {
 public:
  explicit ActivityScope(Activity activity, std::chrono::duration<double> allowance = {});
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  uint64_t before_;
};

// How much memory this process may take in addition while it compiles; none by default. What is refused then is a failed
// allocation. (The limit is RLIMIT_DATA's: address space that is only reserved, as GPU drivers do, does not count.)
void limit_compile_memory(Bytes additional);

// Shows one process's activity to another: made before the fork, shared after it.
class ActivityBoard {
 public:
  struct Reading {
    Activity activity = Activity::working;
    std::chrono::steady_clock::time_point since;
    std::chrono::seconds allowance{};
    friend bool operator==(const Reading&, const Reading&) = default;
  };

  static Result<ActivityBoard> create();  // exhausted
  ActivityBoard(ActivityBoard&& other) noexcept;
  ActivityBoard& operator=(ActivityBoard&&) = delete;
  ~ActivityBoard();

  // In the process to be watched: its ActivityScopes are shown from now on. The board must outlive them.
  void show_this_process() const;
  Reading read() const;

 private:
  explicit ActivityBoard(void* page) : page_(page) {}
  void* page_;
};

}  // namespace mneme
