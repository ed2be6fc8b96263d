// Opening of files that must be regular. Anything else in their place (a FIFO, a socket, a device) is refused, and the message
// says what it is. It is not opened, since opening a FIFO waits, and opening some devices already has an effect.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// The Status for a system call that failed on a path, for example "opening db/x.json: No such file or directory". `code` is its
// errno. The result is not_found, exhausted (the disk or a quota is full) or io.
Status system_error(int code, std::string_view what, const Path& path);

// ok when `mode`, as stat(2) gives it, is that of a regular file; io otherwise. `what` and `path` begin the message.
Status check_regular(mode_t mode, std::string_view what, const Path& path);

// Writes all of `bytes`, going on after interrupted and partial writes. A file that reaches the limit on its size (ulimit -f) is
// an error like others: the signal that the system sends for it is held back.
Status write_all(int file, ByteSpan bytes, const Path& path);

// Has the disk begin with these bytes of the file, so that a sync that comes later waits for less. Whether they reach the disk is
// what that sync tells. On some file systems (an overlay) it may do nothing.
void begin_to_disk(int file, uint64_t offset, Bytes size);

// Whether a symbolic link as the last part of a path is followed or refused.
enum class Links { follow, refuse };

// open(2) with `flags` and O_CLOEXEC, for a regular file; io for anything else. O_TRUNC takes effect only once the file is known
// to be regular. `what` begins the message.
Result<Descriptor> open_regular(const Path& path, int flags, Links links, std::string_view what = "opening");

}  // namespace mneme
