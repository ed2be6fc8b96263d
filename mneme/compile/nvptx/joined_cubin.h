// Takes a kernel out of a cubin that the assembler made of several (joined_ptx.h).
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::nvptx {

// The cubin that the assembler would have made of the kernel `joined_name` alone, under the name `name`: the same to the byte.
// `alone` is a cubin of one kernel of that name, of the same architecture and PTX version, from which everything is taken that is
// the same whatever the kernel's code. unsupported: one of the files has something of which it is not known how it would look,
// by name. corrupt: one of them is no cubin.
Result<ByteVector> take_kernel(ByteSpan joined, const std::string& joined_name, ByteSpan alone, const std::string& name);

}  // namespace mneme::nvptx
