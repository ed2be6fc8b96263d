// Activity: what a process is doing for a replay, so that its parent can tell how long it has been at it.
//
// Code that may hang or crash is put into an ActivityScope. In a process that no parent watches, a scope costs two stores.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class Activity : uint8_t {
  working,    // reading, restoring, comparing: it takes as long as there is work, but always ends, so it has no limit
  compiling,  // LLVM, the user's pipeline and plugins, the assembler
  loading,    // one step of opening a device, or of giving it memory or code
  running,    // one launch of a kernel
  timing,     // several launches that are waited for together: a batch of timed ones, with the warm-up before it
  tracking,   // one launch of a kernel whose code was changed to note its memory accesses
};

// "compiling"
std::string_view to_string(Activity activity);

// While a scope lives, the process is at `activity`; when it ends, at the activity before it. The process may take `allowance`
// longer than the limit of the activity; the allowance counts in whole seconds, rounded up. Scopes nest. Only one thread of a
// process may use them.
class ActivityScope {
 public:
  explicit ActivityScope(Activity activity, std::chrono::duration<double> allowance = {});
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  uint64_t before_;
};

// Limits the memory that this process may take, while it compiles, beyond what it has when compiling begins. An allocation beyond
// the limit fails. Zero, the default, is no limit. (RLIMIT_DATA is what limits: address space that is only reserved, as GPU
// drivers do, does not count.)
void limit_compile_memory(Bytes additional);

// Shows the activity of a child process to its parent. The parent makes the board before it forks; both share it afterwards.
class ActivityBoard {
 public:
  struct Reading {
    Activity activity = Activity::working;
    std::chrono::steady_clock::time_point since;
    std::chrono::seconds allowance{};
    friend bool operator==(const Reading&, const Reading&) = default;
  };

  static Result<ActivityBoard> create();  // exhausted: no memory to share
  ActivityBoard(ActivityBoard&& other) noexcept;
  ActivityBoard& operator=(ActivityBoard&&) = delete;
  ~ActivityBoard();

  // Called in the child: from now on the board shows its ActivityScopes. The board must outlive them.
  void show_this_process() const;
  Reading read() const;

 private:
  explicit ActivityBoard(void* page) : page_(page) {}
  void* page_;
};

}  // namespace mneme
