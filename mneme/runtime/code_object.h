// AMD code objects that a program loads itself: as they come from a file or from memory, bundled or not, and what they define.
//
// Failures: corrupt, unsupported, incompatible. Messages start with `name`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/runtime/image_wrapper.h"

namespace mneme {

// A wrapper that points to the bundle, which must outlive it.
ImageWrapper wrap_bundle(ByteSpan bundle);

// The bytes of the bundle or of the code object that begins there, as many as their own headers say.
Result<ByteSpan> code_object_at(const void* image);

// A bundle of what a file holds: of a code object, which becomes the only one; a bundle stays as it is.
Result<ByteVector> bundle_of(ByteSpan code, const std::string& name);

// What the first code object of a bundle defines and others may name.
struct CodeSymbols {
  std::vector<std::string> kernels;
  std::map<std::string, uint64_t> variables;  // with their sizes in bytes
  // Managed ones (__managed__), which are pointers in the code and none of `variables`, with what they hold at first.
  std::map<std::string, ByteVector> managed;
};
Result<CodeSymbols> read_code_symbols(ByteSpan bundle, const std::string& name);
// The same of a code object.
Result<CodeSymbols> read_code_object_symbols(ByteSpan code_object, const std::string& name);

// Whether the bytes begin as a code object.
bool is_code_object(ByteSpan bytes);
// Does the work of keep_kernel() (device_code.h) for a code object.
Result<ByteVector> keep_kernel_of_code_object(ByteSpan code_object, std::string_view kernel, const std::string& name);

}  // namespace mneme
