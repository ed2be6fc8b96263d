// Functions and global variables: linkage, attributes, initial values, and what makes a function a kernel. A setter returns
// invalid_argument for a value that LLVM does not have, or that the global cannot have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

// "internal", "weak_odr", …, as in textual IR; external linkage, which has no word there, is "external".
Result<std::string> linkage(const ValueRef& global);
Status set_linkage(const ValueRef& global, const std::string& name);
Result<std::string> visibility(const ValueRef& global);  // "default", "hidden", "protected"
Status set_visibility(const ValueRef& global, const std::string& name);
Result<std::string> section(const ValueRef& object);
Result<uint64_t> alignment_of_global(const ValueRef& object);  // bytes; 0 where none is given
Status set_alignment_of_global(const ValueRef& object, uint64_t bytes);
Result<unsigned> address_space(const ValueRef& global);
Result<bool> is_declaration(const ValueRef& global);
// The type of a variable's content, or the signature of a function.
Result<TypeRef> value_type(const ValueRef& global);

// Global variables.
Result<std::optional<ValueRef>> initializer(const ValueRef& variable);
Status set_initializer(const ValueRef& variable, const std::optional<ValueRef>& constant);
Result<bool> is_constant(const ValueRef& variable);
Status set_constant(const ValueRef& variable, bool is_constant);
Result<bool> is_externally_initialized(const ValueRef& variable);

// Functions.
Result<std::vector<ValueRef>> arguments(const ValueRef& function);
Result<std::vector<ValueRef>> blocks(const ValueRef& function);
Result<std::vector<ValueRef>> instructions(const ValueRef& function);  // of all blocks, in order
Result<uint64_t> instruction_count(const ValueRef& function);
Result<std::string> calling_convention(const ValueRef& function);  // "ptx_kernel", "ccc", … or LLVM's number for others
Status set_calling_convention(const ValueRef& function, const std::string& name);
Result<bool> is_kernel(const ValueRef& function);
Result<bool> is_intrinsic(const ValueRef& function);
Status verify_function(const ValueRef& function);  // corrupt: it is not valid IR; the message has the verifier's words
// Adds an empty block before another one, or at the end of the function.
Result<ValueRef> add_block(const ValueRef& function, const std::string& name, const std::optional<ValueRef>& before);
// Makes a definition a declaration. invalid_argument: the address of one of its blocks is taken.
Status delete_body(const ValueRef& function);
Result<ValueRef> parent_function(const ValueRef& argument_or_block);
Result<unsigned> argument_index(const ValueRef& argument);

// The bounds on a launch that the target's attributes of a function set. A member is empty where its attribute is not set.
struct LaunchBounds {
  std::vector<unsigned> most_threads;      // nvvm.maxntid: of a block, in one to three dimensions
  std::vector<unsigned> required_threads;  // nvvm.reqntid: of a block, in one to three dimensions
  std::optional<unsigned> least_blocks;    // nvvm.minctasm: blocks resident on a multiprocessor
  std::optional<unsigned> most_registers;  // nvvm.maxnreg: of a thread
  std::vector<unsigned> workgroup;         // amdgpu-flat-work-group-size: least and most threads
};
Result<LaunchBounds> launch_bounds(const ValueRef& function);

// Attributes. A place is where one stands: at a function or a call itself, at its result, or at an argument.
struct AttributePlace {
  enum class Of { function, result, argument };
  Of of = Of::function;
  unsigned argument = 0;
};
struct AttributeInfo {
  std::string name;   // "noinline", "align", "nvvm.maxntid"
  std::string value;  // as it is written; empty for an attribute that has none
  std::string text;   // the whole attribute as in textual IR
  bool is_string = false;
};
Result<std::vector<AttributeInfo>> attributes(const ValueRef& function_or_call, const AttributePlace& place);
// Adds an attribute that is written as in textual IR: noinline, memory(none), align 16, "key"="value". It replaces one of the
// same name. invalid_argument: LLVM has no such attribute, or not at that place.
Status add_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& text);
Status add_string_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& key,
                            const std::string& value);
// Returns whether there was such an attribute.
Result<bool> remove_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& name);

}  // namespace mneme::ir
