// The codec of CompiledCode, for files and messages.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// Writes all members but `times` and `cache`. The version comes first; whoever changes what is written raises it.
ByteVector encode(const CompiledCode& code);
// corrupt: the bytes are cut short or too many, of another version, or the image does not have its digest. The message calls
// them `name`.
Result<CompiledCode> decode_compiled_code(ByteSpan bytes, const std::string& name);

}  // namespace mneme
