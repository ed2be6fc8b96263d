// Advisory locks on open files (flock). They hold between threads, processes and containers, and between hosts on a network file
// system that supports it.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// Waits for the lock; a warning says so after `patience.notice`. timeout: another process still holds it after `patience.limit`;
// the message names that process where the system tells. Any other failure is the system's (system_error()).
Status lock_file(const Descriptor& file, const Path& path, const LockPatience& patience, LockKind kind = LockKind::exclusive);
// `taken`: somebody else holds the lock. `no_locks`: the file system has no locks, so nobody can hold one there.
enum class LockAttempt { locked, taken, no_locks };
// Tries to take the lock, without waiting.
LockAttempt lock_file_now(const Descriptor& file);
// Gives the lock up. Closing the file is not enough: a process that was forked meanwhile shares the lock and would keep it.
void unlock_file(const Descriptor& file);

// Whether the open file was removed, so that no folder has a name for it any more.
bool is_removed(const Descriptor& file);

}  // namespace mneme
