// Files that lie in memory and in no folder, so that nothing is left of them, however the process ends.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// Makes a file in memory that holds `bytes`. exec() closes it. Tools like lsof show it as `name`. exhausted, io: it could not be
// made or written; the message has the name and the reason.
Result<Descriptor> make_memory_file(const char* name, ByteSpan bytes);

// Reads all of an open regular file, from its beginning, whatever was read of it before. io: it cannot be read, or is no file.
Result<ByteVector> read_whole(int descriptor);

}  // namespace mneme
