// Makes IR of parsed PTX: of its registers, its control flow, and of each instruction by a table of opcodes.
//
// A FunctionLowering holds what all PTX of one function shares; its emit() replaces one call. The handler of an opcode gets an
// Op, which is one instruction at the builder's insertion point. The handler takes the modifiers that it knows, reads operands
// as typed values, and writes results. The first failure stays, and later reads give zeros, so that handlers need not check for
// failures. A modifier that a handler has not taken is a failure too. Handlers are in the files ptx_asm_<family>.cc, each of
// which has one table.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cpu/ptx/ptx_asm.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::ptx {

// How a type's values stand in IR: integers as iN, f16 half, f32 float, f64 double, pred i1; bf16 as i16, the small floats as i8
// and tf32 as i32 (arithmetic on these goes through ptx_asm_float_math.h); packed types as vectors of these.
llvm::Type* ir_type(llvm::LLVMContext& context, Type type);

class FunctionLowering {
 public:
  FunctionLowering(llvm::Function& function, llvm::Value* thread) : function_(function), thread_(thread) {}

  // Replaces `call`, which stands for `program`: operand k of the program is an output or an input of the call, in the order of
  // `constraints` (LLVM's, "=r,r,0,~{memory}").
  Status emit(llvm::CallBase& call, const Program& program, llvm::StringRef constraints);

  // Turns the registers that lived in memory into values. Call it once, after the last emit().
  void finish();

  llvm::Function& function() { return function_; }
  llvm::Value* thread() { return thread_; }
  llvm::AllocaInst* register_slot(llvm::Type* type);  // memory of a register: zero at first; finish() makes a value of it
  llvm::AllocaInst* scratch(llvm::Type* type);        // memory that stays memory, for services that write a result
  llvm::AllocaInst* carry();                          // the carry flag (i1), which lives on from call to call

 private:
  llvm::Function& function_;
  llvm::Value* thread_;
  std::vector<llvm::AllocaInst*> slots_;
  llvm::AllocaInst* carry_ = nullptr;
};

class Emission;  // one call being replaced

// One instruction that is being replaced, as its handler sees it.
class Op {
 public:
  Op(Emission& emission, const Instruction& instruction);

  llvm::IRBuilder<>& ir;
  ThreadState& thread;

  // Modifiers. Each call takes the one that it finds, so that finish() does not count it as unknown.
  bool flag(std::string_view modifier);
  std::string_view choice(std::initializer_list<std::string_view> modifiers, std::string_view otherwise = {});
  std::string_view next();  // whatever comes next, empty at the end
  Type type();              // the next one that is a type; fails when there is none
  std::optional<Type> maybe_type();
  void ignore_modifiers();

  // Operands. `in` converts the register's bits to the type: truncated, or extended by the type's sign.
  size_t count() const { return instruction_.operands.size(); }
  const Operand& operand(size_t index);
  bool expect(size_t least, size_t most);
  llvm::Value* in(size_t index, Type type) { return in(operand(index), type); }
  llvm::Value* in(const Operand& operand, Type type);
  void out(size_t index, llvm::Value* value, Type type) { out(operand(index), value, type); }
  void out(const Operand& operand, llvm::Value* value, Type type);
  // The d and the p of "d|p". Where there is no pair, the first is the operand itself and the second a sink.
  const Operand& first(size_t index);
  const Operand& second(size_t index);
  // A host pointer for an address operand of the state space ("", "global", "shared", "shared::cta", …).
  llvm::Value* pointer(size_t index, std::string_view space);
  // The operand's value, which must be a constant; a failure else.
  uint64_t constant(size_t index);
  // Applies `element` to each lane of `arguments`, which have the lanes of `type`, and makes a vector of the results.
  using Lane = llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)>;
  llvm::Value* lanes(Type type, llvm::ArrayRef<llvm::Value*> arguments, Lane element);

  llvm::Value* zero(Type type);
  llvm::Value* i32(uint32_t value) { return ir.getInt32(value); }
  FunctionLowering& function();
  // For handlers that branch: opens the code for control flow, and makes blocks in it.
  llvm::BasicBlock* new_block(const char* name);
  void open_control_flow();
  // The block of a label; and a return from the function.
  llvm::BasicBlock* label(const Operand& operand);
  bool is_behind(const Operand& label);  // a branch to it goes backwards
  void return_from_function();

  void fail(std::string_view why);  // unsupported: inline PTX '<spelling>': <why>
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  Status finish();  // the first failure; else the failure of a modifier that was not taken; else ok
  const Instruction& instruction() const { return instruction_; }

 private:
  Emission& emission_;
  const Instruction& instruction_;
  std::vector<bool> taken_;
  Status status_;
};

// Makes the IR of one instruction.
using Handler = void (*)(Op&);
struct Entry {
  std::string_view opcode;
  Handler handler;
};
std::span<const Entry> integer_instructions();
std::span<const Entry> bit_instructions();
std::span<const Entry> simd_instructions();
std::span<const Entry> float_instructions();
std::span<const Entry> select_instructions();
std::span<const Entry> convert_instructions();
std::span<const Entry> memory_instructions();
std::span<const Entry> atomic_instructions();
std::span<const Entry> texture_instructions();
std::span<const Entry> thread_instructions();

// The handler of an opcode, or null.
Handler find_handler(std::string_view opcode);
// Why there is no handler, in the user's words: "matrix instructions are not available on the CPU device".
std::string_view why_unsupported(std::string_view opcode);

// For several families: add, sub, mul, mad and div of floats; min and max; abs and neg.
void emit_float_arithmetic(Op& op, Type type);
void emit_float_minmax(Op& op, Type type);
void emit_float_sign(Op& op, Type type);
// i1: `comparison` ("lt", "neu", "hs" …) of two values of one element of `type`; null and a failure when it is not one.
llvm::Value* emit_comparison(Op& op, std::string_view comparison, Type type, llvm::Value* a, llvm::Value* b);

}  // namespace mneme::ptx
