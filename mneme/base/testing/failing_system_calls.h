// System calls that fail as they do on some machines, disks and file systems, in a process of a test's own.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mneme::testing_base {

// The exit status of a process that cannot make its system calls fail.
inline constexpr int kCannotFail = 99;

// From now on these system calls (SYS_fsync) do nothing in this process but what `instead` says.
inline void replace_system_calls(std::initializer_list<long> calls, uint32_t instead) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, instead));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(kCannotFail);
}

// They fail with this code (EIO).
inline void fail_system_calls(std::initializer_list<long> calls, int code) {
  replace_system_calls(calls, SECCOMP_RET_ERRNO | static_cast<uint32_t>(code));
}

// They end the process, as SIGSYS does: for a test of whether they are made.
inline void end_at_system_calls(std::initializer_list<long> calls) { replace_system_calls(calls, SECCOMP_RET_KILL_PROCESS); }

}  // namespace mneme::testing_base
