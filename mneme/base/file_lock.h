// Advisory locks on open files (flock), which hold between threads, processes and containers, and where the file system is a
// network's and says so, between hosts.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// Waits for it. timeout: somebody else holds it for longer than the patience, whom the message names where the system tells.
Status lock_file(const Descriptor& file, const Path& path, const LockPatience& patience);
// `no_locks`: the file system has none, so that nobody gets one there.
enum class LockAttempt { locked, taken, no_locks };
LockAttempt lock_file_now(const Descriptor& file);
// A process that was forked meanwhile has the same lock, and would keep it when the file is closed here.
void unlock_file(const Descriptor& file);

// Whether the file has no name any more.
bool is_removed(const Descriptor& file);

}  // namespace mneme
