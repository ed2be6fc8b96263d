// AsMade: a call of the program's own while it is on its way through a slot of CUDA's to the program's HIP runtime.
//
// What an interposer calls on with at the end of its hook is what the program gave. So the end of the slot makes the very call,
// with all that CUDA's types have no place for: flags, members, codes of errors. A call that an interposer makes of its own is
// converted (rows.h). Some interposers make such a call of the same function on the way: they launch another kernel, or the same
// on other memory. A call that has a Subject is made for none but its own.
#pragma once

#include <optional>
#include <utility>

#include "mneme/hip/errors.h"
#include "mneme/hip/table.h"

namespace mneme::hip {

// What tells the call of the program from others of the same function, as that has it in CUDA's form.
struct Subject {
  const void* what = nullptr;
  const void* with = nullptr;
  friend bool operator==(const Subject&, const Subject&) = default;
};
// Of the arguments of a slot: the function and its arguments of a launch, and what a node of an executable graph is set to.
inline Subject subject_of(const auto&...) { return {}; }
inline Subject subject_of(const void* function, dim3, dim3, void** arguments, size_t, cudaStream_t) {
  return {function, arguments};
}
inline Subject subject_of(const cudaLaunchConfig_t*, const void* function, void** arguments) { return {function, arguments}; }
inline Subject subject_of(cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams* kernel) { return {kernel, nullptr}; }

class AsMade {
 public:
  // For the calling thread, until it goes out of scope. `call` makes the program's call, and outlives this.
  template <typename Call>
  AsMade(mneme_call slot, Call& call)
      : slot_(slot),
        call_([](void* made) { return (*static_cast<Call*>(made))(); }),
        made_(&call),
        outer_(std::exchange(current(), this)) {}
  ~AsMade() { current() = outer_; }
  AsMade(const AsMade&) = delete;
  AsMade& operator=(const AsMade&) = delete;

  // For who calls the slot: what the thread's call on its way through it is about.
  static void name_subject(mneme_call slot, const Subject& subject) {
    if (AsMade* const made = current(); made && made->slot_ == slot) made->subject_ = subject;
  }

  // For the end of a slot: true where the thread's call is on its way through it, and is the one that the end is asked for. The
  // first to ask makes the call; `code` is what it has returned.
  static bool make(mneme_call slot, cudaError_t& code, const Subject& asked = {}) {
    AsMade* const made = current();
    if (!made || made->is_done_ || made->slot_ != slot || (made->subject_ && *made->subject_ != asked)) return false;
    made->is_done_ = true;
    made->result_ = made->call_(made->made_);
    code = to_cuda(made->result_);
    return true;
  }

  // What the program gets where the slot has returned `code`: the runtime's own result, unless an interposer has changed it.
  hipError_t result(cudaError_t code) const { return is_done_ && to_cuda(result_) == code ? result_ : to_hip(code); }

 private:
  static AsMade*& current() {
    thread_local AsMade* innermost = nullptr;
    return innermost;
  }

  const mneme_call slot_;
  hipError_t (*const call_)(void*);
  void* const made_;
  AsMade* const outer_;
  std::optional<Subject> subject_;
  bool is_done_ = false;
  hipError_t result_ = hipSuccess;
};

}  // namespace mneme::hip
