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
  std::string text;  // a string itself; other metadata as in textual IR
};
Result<MetadataInfo> metadata_info(const MetadataRef& metadata);
// The operands of a node. A null operand is nothing. What is no node has none.
Result<std::vector<std::optional<MetadataRef>>> metadata_operands(const MetadataRef& metadata);
// The value that metadata of the kind "value" stands for. invalid_argument: it is of another kind.
Result<ValueRef> metadata_as_value(const MetadataRef& metadata);

// The metadata attached to an instruction, a function or a global variable, each with its kind; `dbg` is among them.
Result<std::vector<std::pair<std::string, MetadataRef>>> attached_metadata(const ValueRef& value);
// Attaches a node, or removes the one of that kind when given nothing. invalid_argument: the metadata is no node, or not the
// debug information that `dbg` must be.
Status set_metadata(const ValueRef& value, const std::string& kind, const std::optional<MetadataRef>& node);

struct SourceLocation {
  unsigned line = 0;
  unsigned column = 0;
  std::string file;  // as the compiler saw it
  std::string directory;
  std::string function;  // the function in the source, by the name that it has there
};
// Where an instruction comes from, innermost first: where it was written, then where that code was inlined, and so on. Empty
// where it has no debug location.
Result<std::vector<SourceLocation>> debug_location(const ValueRef& instruction);
// Where the function itself is defined in the source; nothing without debug information.
Result<std::optional<SourceLocation>> debug_location_of_function(const ValueRef& function);
// Sets a location in the instruction's own function. invalid_argument: that function has no debug information.
Status set_debug_location(const ValueRef& instruction, unsigned line, unsigned column);
// Copies the location of another instruction, with where that was inlined. invalid_argument: it is of another function.
Status copy_debug_location(const ValueRef& instruction, const ValueRef& from);
Status remove_debug_location(const ValueRef& instruction);

}  // namespace mneme::ir
