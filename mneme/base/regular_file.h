// Opening what has to be a regular file. What lies in its place (a FIFO, a socket, a device) is refused by its kind: it is never
// waited for, nor opened, which alone would do something to many a device.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// "opening db/x.json: No such file or directory": a system call's failure on a path. not_found, exhausted (disk or quota) or io.
Status system_error(int code, std::string_view what, const Path& path);

// io unless `mode`, as stat(2) gives it, is that of a regular file; `what` and `path` begin the message.
Status check_regular(mode_t mode, std::string_view what, const Path& path);

// Writes all of it. Interrupted and partial writes go on.
Status write_all(int file, ByteSpan bytes, const Path& path);

// Whether the last part of a path may be a symbolic link.
enum class Links { follow, refuse };

// open(2) with `flags` and O_CLOEXEC. O_TRUNC takes effect only once the file is known to be regular.
Result<Descriptor> open_regular(const Path& path, int flags, Links links, std::string_view what = "opening");

}  // namespace mneme
