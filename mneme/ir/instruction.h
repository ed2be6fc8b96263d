// Instructions and basic blocks: what they are, what they lead to, and where they stand.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

// Blocks.
Result<std::vector<ValueRef>> block_instructions(const ValueRef& block);
Result<std::optional<ValueRef>> terminator(const ValueRef& block);
// Each once, in no promised order.
Result<std::vector<ValueRef>> predecessors(const ValueRef& block);
Result<std::vector<ValueRef>> successors(const ValueRef& block_or_terminator);
// Moves the block's instructions from `instruction` on into a new block behind it, to which it branches. invalid_argument: a phi.
Result<ValueRef> split_block(const ValueRef& instruction, const std::string& name);

// Instructions.
Result<std::string> opcode(const ValueRef& instruction);  // "fmul", "load", "br", …
Result<ValueRef> parent_block(const ValueRef& instruction);
// "eq", "ult", "oeq", … of a comparison, the operation of an atomicrmw; empty for others.
Result<std::string> predicate(const ValueRef& instruction);
// The words of textual IR: nuw nsw exact disjoint nneg samesign inbounds nusw, fast or its parts, volatile, tail, musttail,
// notail.
Result<std::vector<std::string>> flags(const ValueRef& instruction);
// invalid_argument: the instruction cannot have such a flag.
Status set_flag(const ValueRef& instruction, const std::string& flag, bool is_set);
// Bytes, of memory accesses and alloca; nothing for others. Setting: invalid_argument where there is none, or no power of two.
Result<std::optional<uint64_t>> alignment(const ValueRef& instruction);
Status set_alignment(const ValueRef& instruction, uint64_t bytes);
// Of atomic instructions: "monotonic", "seq_cst", …, and the synchronisation scope as written; empty for others.
Result<std::string> ordering(const ValueRef& instruction);
Result<std::string> sync_scope(const ValueRef& instruction);
// The type that a load reads, a store writes, an alloca makes, a getelementptr steps over; nothing for others.
Result<std::optional<TypeRef>> accessed_type(const ValueRef& instruction);
// Of a load, a store, an atomic or a getelementptr: the address, and the space it is in.
Result<std::optional<ValueRef>> pointer_operand(const ValueRef& instruction);

struct InstructionTraits {
  bool is_terminator = false;
  bool is_call = false;
  bool is_memory_access = false;  // reads or writes memory itself: load, store, atomics, va_arg
  bool may_read_memory = false;
  bool may_write_memory = false;
  bool has_side_effects = false;
  bool is_commutative = false;
  bool is_associative = false;
  bool is_cast = false;
  bool is_binary = false;
  bool is_atomic = false;
  bool is_volatile = false;
};
Result<InstructionTraits> traits(const ValueRef& instruction);

// Calls. The function that is called, where it is known: not for pointers and inline assembly.
Result<std::optional<ValueRef>> called_function(const ValueRef& call);
Result<std::vector<ValueRef>> call_arguments(const ValueRef& call);
// The text of inline assembly and its constraints; nothing for other calls.
Result<std::optional<std::pair<std::string, std::string>>> inline_assembly(const ValueRef& call);

// Phis: value and block of each way in.
Result<std::vector<std::pair<ValueRef, ValueRef>>> incoming(const ValueRef& phi);
// invalid_argument: another type; the block is of another function.
Status add_incoming(const ValueRef& phi, const ValueRef& value, const ValueRef& block);
Status remove_incoming(const ValueRef& phi, const ValueRef& block);

enum class Place { before, after };
// invalid_argument: of another module or function, a terminator, or beyond one.
Status move_instruction(const ValueRef& instruction, Place place, const ValueRef& other);
// A copy at that place, which has no name and no uses.
Result<ValueRef> copy_instruction(const ValueRef& instruction, Place place, const ValueRef& other);

}  // namespace mneme::ir
