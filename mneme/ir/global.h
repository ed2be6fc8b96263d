// Functions and global variables: what the module knows them as, and what makes a function a kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

// "internal", "weak_odr", …; external is spelt out. Setting: invalid_argument for what LLVM does not have, or does not have
// there.
Result<std::string> linkage(const ValueRef& global);
Status set_linkage(const ValueRef& global, const std::string& name);
Result<std::string> visibility(const ValueRef& global);  // "default", "hidden", "protected"
Status set_visibility(const ValueRef& global, const std::string& name);
Result<std::string> section(const ValueRef& object);
Result<uint64_t> alignment_of_global(const ValueRef& object);  // bytes; 0 where none is given
Status set_alignment_of_global(const ValueRef& object, uint64_t bytes);
Result<unsigned> address_space(const ValueRef& global);
Result<bool> is_declaration(const ValueRef& global);
// A variable's type in memory, a function's signature.
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
Result<std::string> calling_convention(const ValueRef& function);  // "ptx_kernel", "c", or the number
Status set_calling_convention(const ValueRef& function, const std::string& name);
Result<bool> is_kernel(const ValueRef& function);
Result<bool> is_intrinsic(const ValueRef& function);
Status verify_function(const ValueRef& function);  // corrupt, in the verifier's words
Result<ValueRef> add_block(const ValueRef& function, const std::string& name, const std::optional<ValueRef>& before);
// Makes a definition a declaration. invalid_argument: a block's address is taken.
Status delete_body(const ValueRef& function);
Result<ValueRef> parent_function(const ValueRef& argument_or_block);
Result<unsigned> argument_index(const ValueRef& argument);

// What a launch may have, as the target's attributes say it; empty where they say nothing.
struct LaunchBounds {
  std::vector<unsigned> most_threads;      // nvvm.maxntid, one to three numbers
  std::vector<unsigned> required_threads;  // nvvm.reqntid
  std::optional<unsigned> least_blocks;    // nvvm.minctasm: resident on a multiprocessor
  std::optional<unsigned> most_registers;  // nvvm.maxnreg
  std::vector<unsigned> workgroup;         // amdgpu-flat-work-group-size: least and most threads
};
Result<LaunchBounds> launch_bounds(const ValueRef& function);

// Attributes. Where they stand: at a function or a call, its result, or an argument.
struct AttributePlace {
  enum class Of { function, result, argument };
  Of of = Of::function;
  unsigned argument = 0;
};
struct AttributeInfo {
  std::string name;   // "noinline", "align", "nvvm.maxntid"
  std::string value;  // of those that have one, as it is written
  std::string text;   // the whole, as in textual IR
  bool is_string = false;
};
Result<std::vector<AttributeInfo>> attributes(const ValueRef& function_or_call, const AttributePlace& place);
// As it is written in textual IR: noinline, memory(none), align 16, "key"="value". One of the same name is replaced.
// invalid_argument: it is none, or cannot stand there.
Status add_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& text);
Status add_string_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& key,
                            const std::string& value);
Result<bool> remove_attribute(const ValueRef& function_or_call, const AttributePlace& place, const std::string& name);

}  // namespace mneme::ir
