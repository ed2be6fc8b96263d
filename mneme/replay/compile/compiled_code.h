// Compiled code as bytes.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// Everything but the times and how the cache was used. A change of what is written raises the version that is written first.
ByteVector encode(const CompiledCode& code);
// corrupt: cut short, of another version, or not what its digest says; `name` is what the message calls it.
Result<CompiledCode> decode_compiled_code(ByteSpan bytes, const std::string& name);

}  // namespace mneme
