// Metadata and debug locations.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

struct MetadataInfo {
  std::string kind;  // "string", "value", "tuple", or the class of debug information: "DISubprogram"
  std::string text;  // of a string, itself; of others, as in textual IR
};
Result<MetadataInfo> metadata_info(const MetadataRef& metadata);
// Of a node; null operands are nothing.
Result<std::vector<std::optional<MetadataRef>>> metadata_operands(const MetadataRef& metadata);
// What a "value" stands for.
Result<ValueRef> metadata_as_value(const MetadataRef& metadata);

// Of an instruction, a function or a global variable. `dbg` is among them.
Result<std::vector<std::pair<std::string, MetadataRef>>> attached_metadata(const ValueRef& value);
// Nothing removes it. invalid_argument: it is no node, or no debug location where there must be one.
Status set_metadata(const ValueRef& value, const std::string& kind, const std::optional<MetadataRef>& node);

struct SourceLocation {
  unsigned line = 0;
  unsigned column = 0;
  std::string file;  // as the compiler saw it
  std::string directory;
  std::string function;  // the source's name of the function it was written in
};
// Innermost first: where the instruction was written, then where that was inlined.
Result<std::vector<SourceLocation>> debug_location(const ValueRef& instruction);
// The function's own source position; nothing without debug information.
Result<std::optional<SourceLocation>> debug_location_of_function(const ValueRef& function);
// In the instruction's own function, which must have debug information: invalid_argument otherwise.
Status set_debug_location(const ValueRef& instruction, unsigned line, unsigned column);
// The other's, also where it was inlined from. invalid_argument: of another function.
Status copy_debug_location(const ValueRef& instruction, const ValueRef& from);
Status remove_debug_location(const ValueRef& instruction);

}  // namespace mneme::ir
