// A file that a user names for what a command writes, which may be anything that can be written to.
#pragma once

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// A regular file, or one that is not there, is written as FileSystem::write_atomically() does; anything else (a device, a FIFO)
// is opened and written to, which waits for the reader of a FIFO. A symbolic link stays, and its target is written.
Status write_output_file(const Path& path, ByteSpan bytes, FileSystem& files = FileSystem::posix());

// not_found: there is no folder for a file of that path. To be asked before the work whose result is to be written there.
Status check_output_folder(const Path& path);

// Where the symbolic links that `path` ends in lead, whether there is anything or not. io: they lead nowhere, round in a circle.
Result<Path> link_target(const Path& path);

// Opens what is there and is no regular file, to write to it. `path` may be a symbolic link.
Result<std::unique_ptr<WritableFile>> open_special_file(const Path& path);
// Whether that is so. False for what is not there.
bool is_special_file(const Path& path);

}  // namespace mneme
