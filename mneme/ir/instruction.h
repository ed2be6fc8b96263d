// Instructions and basic blocks: what they are, what they lead to, and where they stand.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

// Blocks. terminator() is nothing while a block has no end yet.
Result<std::vector<ValueRef>> block_instructions(const ValueRef& block);
Result<std::optional<ValueRef>> terminator(const ValueRef& block);
// Each block once. The order may change.
Result<std::vector<ValueRef>> predecessors(const ValueRef& block);
Result<std::vector<ValueRef>> successors(const ValueRef& block_or_terminator);
// Splits the block before `instruction`: it and all that follow move into a new block, to which the old one branches. Returns the
// new block. invalid_argument: the instruction is a phi, or the block has no terminator.
Result<ValueRef> split_block(const ValueRef& instruction, const std::string& name);

// Instructions.
Result<std::string> opcode(const ValueRef& instruction);  // "fmul", "load", "br", …
Result<ValueRef> parent_block(const ValueRef& instruction);
// The predicate of a comparison ("eq", "ult", "oeq", …) or the operation of an atomicrmw ("add", …); empty for others.
Result<std::string> predicate(const ValueRef& instruction);
// The instruction's flags, by the words of textual IR: nuw nsw exact disjoint nneg samesign inbounds nusw, fast or its parts,
// volatile, tail, musttail, notail.
Result<std::vector<std::string>> flags(const ValueRef& instruction);
// invalid_argument: the instruction cannot have such a flag.
Status set_flag(const ValueRef& instruction, const std::string& flag, bool is_set);
// The alignment of a memory access or an alloca, in bytes; nothing for others. set_alignment() returns invalid_argument where the
// instruction has no alignment, and for what is no power of two.
Result<std::optional<uint64_t>> alignment(const ValueRef& instruction);
Status set_alignment(const ValueRef& instruction, uint64_t bytes);
// The ordering of an atomic instruction ("monotonic", "seq_cst", …; of a cmpxchg, that of success) and its synchronisation scope
// as written; empty for others.
Result<std::string> ordering(const ValueRef& instruction);
Result<std::string> sync_scope(const ValueRef& instruction);
// The type that a load reads, a store writes, an atomic operation changes, an alloca makes or a getelementptr steps over; nothing
// for others.
Result<std::optional<TypeRef>> accessed_type(const ValueRef& instruction);
// The address operand of a load, a store, an atomic operation or a getelementptr; nothing for others.
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

// Calls. The function that is called; nothing for a call through a pointer and for inline assembly.
Result<std::optional<ValueRef>> called_function(const ValueRef& call);
Result<std::vector<ValueRef>> call_arguments(const ValueRef& call);
// The text of inline assembly and its constraints; nothing for other calls.
Result<std::optional<std::pair<std::string, std::string>>> inline_assembly(const ValueRef& call);

// Phis. The incoming values, each with the block that it comes from.
Result<std::vector<std::pair<ValueRef, ValueRef>>> incoming(const ValueRef& phi);
// invalid_argument: the value has another type, or the value or the block is of another function.
Status add_incoming(const ValueRef& phi, const ValueRef& value, const ValueRef& block);
Status remove_incoming(const ValueRef& phi, const ValueRef& block);

enum class Place { before, after };
// Moves an instruction before or after another one. invalid_argument: they are of different functions, or a terminator would move
// or would no longer be the last.
Status move_instruction(const ValueRef& instruction, Place place, const ValueRef& other);
// Puts a copy of an instruction there. The copy has no name and no uses.
Result<ValueRef> copy_instruction(const ValueRef& instruction, Place place, const ValueRef& other);

}  // namespace mneme::ir
