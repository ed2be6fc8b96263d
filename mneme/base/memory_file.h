// Files that lie in memory and in no folder: nothing is left of them, whatever ends the process.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// A new one that holds `bytes`, closed by exec. io, exhausted: `name`, which tools like lsof show, and why.
Result<Descriptor> make_memory_file(const char* name, ByteSpan bytes);

// All of an open regular file, wherever it was read last. io.
Result<ByteVector> read_whole(int descriptor);

}  // namespace mneme
