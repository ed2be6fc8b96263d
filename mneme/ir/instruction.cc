#include "mneme/ir/instruction.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include "mneme/ir/global_access.h"
#include "mneme/ir/handle_access.h"
#include "mneme/ir/instruction_flags.h"

namespace mneme::ir {
namespace {

template <typename Range>
std::vector<ValueRef> each_once(const std::shared_ptr<ModuleState>& state, Range&& range) {
  std::vector<ValueRef> all;
  llvm::SmallPtrSet<llvm::BasicBlock*, 8> seen;
  for (llvm::BasicBlock* block : range)
    if (seen.insert(block).second) all.push_back(refer(state, static_cast<llvm::Value*>(block)));
  return all;
}

// The alignment's setter, as the classes of memory accesses share none.
template <typename F>
bool with_aligned(llvm::Instruction& instruction, F&& use) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return use(*load), true;
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return use(*store), true;
  if (auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) return use(*alloca), true;
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return use(*update), true;
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return use(*exchange), true;
  return false;
}

// Where `place` of `other` is, for `instruction` to stand.
Result<llvm::BasicBlock::iterator> position(const llvm::Instruction& instruction, Place place, llvm::Instruction& other) {
  const auto refused = [&](const std::string& why) {
    return error(Code::invalid_argument, "putting {} {} {}: {}", describe(instruction),
                 place == Place::before ? "before" : "after", describe(other), why);
  };
  if (instruction.getFunction() != other.getFunction())
    return refused(fmt::format("that is in function '{}', and it in '{}'", other.getFunction()->getName().str(),
                               instruction.getFunction()->getName().str()));
  if (instruction.isTerminator()) return refused("it ends its block");
  if (place == Place::after && other.isTerminator()) return refused("that ends its block");
  return place == Place::before ? other.getIterator() : std::next(other.getIterator());
}

}  // namespace

Result<std::vector<ValueRef>> block_instructions(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(ref));
  return refer_all(state_of(ref), *block);
}

Result<std::optional<ValueRef>> terminator(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(ref));
  llvm::Instruction* end = block->getTerminator();
  return end ? std::optional(refer(state_of(ref), static_cast<llvm::Value*>(end))) : std::nullopt;
}

Result<std::vector<ValueRef>> predecessors(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(ref));
  return each_once(state_of(ref), llvm::predecessors(block));
}

Result<std::vector<ValueRef>> successors(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  llvm::Instruction* end = llvm::dyn_cast<llvm::Instruction>(value);
  if (auto* block = llvm::dyn_cast<llvm::BasicBlock>(value))
    end = block->getTerminator();
  else if (!end)
    return wrong_kind(*value, "a basic block or an instruction");
  if (!end || !end->isTerminator()) return std::vector<ValueRef>();
  return each_once(state_of(ref), llvm::successors(end));
}

Result<ValueRef> split_block(const ValueRef& ref, const std::string& name) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  llvm::BasicBlock* block = instruction->getParent();
  const auto refused = [&](std::string_view why) {
    return error(Code::invalid_argument, "splitting {} at {}: {}", describe(*block), describe(*instruction), why);
  };
  if (!block->getTerminator()) return refused("the block has no end yet");
  if (llvm::isa<llvm::PHINode>(instruction)) return refused("phis stay at the beginning of their block");
  if (instruction->isEHPad()) return refused("it must be the first of its block");
  if (name.find('\0') != std::string::npos) return refused("a name has no NUL");
  return refer(state_of(ref), static_cast<llvm::Value*>(block->splitBasicBlock(instruction->getIterator(), name)));
}

Result<std::string> opcode(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  return std::string(instruction->getOpcodeName());
}

Result<ValueRef> parent_block(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  return refer(state_of(ref), static_cast<llvm::Value*>(instruction->getParent()));
}

Result<std::string> predicate(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  if (auto* comparison = llvm::dyn_cast<llvm::CmpInst>(instruction))
    return llvm::CmpInst::getPredicateName(comparison->getPredicate()).str();
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction))
    return llvm::AtomicRMWInst::getOperationName(update->getOperation()).str();
  return std::string();
}

Result<std::vector<std::string>> flags(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  return flags_of(*instruction);
}

Status set_flag(const ValueRef& ref, const std::string& flag, bool is_set) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  return set_flag_of(*instruction, flag, is_set);
}

Result<std::optional<uint64_t>> alignment(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  std::optional<uint64_t> bytes;
  with_aligned(*instruction, [&](auto& access) { bytes = access.getAlign().value(); });
  return bytes;
}

Status set_alignment(const ValueRef& ref, uint64_t bytes) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  MNEME_TRY(check_alignment(bytes));
  const bool is_aligned = bytes > 0 && with_aligned(*instruction, [&](auto& access) { access.setAlignment(llvm::Align(bytes)); });
  if (is_aligned) return {};
  return error(Code::invalid_argument, "aligning {} to {} bytes: {}", describe(*instruction), bytes,
               bytes == 0 ? "it has an alignment of 1 at least" : "it has no alignment");
}

Result<std::string> ordering(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  const auto name = [](llvm::AtomicOrdering order) {
    return std::string(order == llvm::AtomicOrdering::NotAtomic ? "" : llvm::toIRString(order));
  };
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) return name(load->getOrdering());
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) return name(store->getOrdering());
  if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(instruction)) return name(fence->getOrdering());
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) return name(update->getOrdering());
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) return name(exchange->getSuccessOrdering());
  return std::string();
}

Result<std::string> sync_scope(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  const auto scope = llvm::getAtomicSyncScopeID(instruction);
  return scope ? instruction->getContext().getSyncScopeName(*scope).value_or("").str() : std::string();
}

Result<std::optional<TypeRef>> accessed_type(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  llvm::Type* type = nullptr;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) type = load->getType();
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) type = store->getValueOperand()->getType();
  if (auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(instruction)) type = alloca->getAllocatedType();
  if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) type = gep->getSourceElementType();
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) type = update->getValOperand()->getType();
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) type = exchange->getNewValOperand()->getType();
  return type ? std::optional(refer(state_of(ref), type)) : std::nullopt;
}

Result<std::optional<ValueRef>> pointer_operand(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  llvm::Value* pointer = nullptr;
  if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) pointer = gep->getPointerOperand();
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) pointer = load->getPointerOperand();
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) pointer = store->getPointerOperand();
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) pointer = update->getPointerOperand();
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) pointer = exchange->getPointerOperand();
  return pointer ? std::optional(refer(state_of(ref), pointer)) : std::nullopt;
}

Result<InstructionTraits> traits(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  return InstructionTraits{
      .is_terminator = instruction->isTerminator(),
      .is_call = llvm::isa<llvm::CallBase>(instruction),
      .is_memory_access =
          llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::VAArgInst>(instruction),
      .may_read_memory = instruction->mayReadFromMemory(),
      .may_write_memory = instruction->mayWriteToMemory(),
      .has_side_effects = instruction->mayHaveSideEffects(),
      .is_commutative = instruction->isCommutative(),
      .is_associative = instruction->isAssociative(),
      .is_cast = instruction->isCast(),
      .is_binary = instruction->isBinaryOp(),
      .is_atomic = instruction->isAtomic(),
      .is_volatile = instruction->isVolatile(),
  };
}

Result<std::optional<ValueRef>> called_function(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::CallBase * call, get<llvm::CallBase>(ref));
  auto* function = llvm::dyn_cast<llvm::Function>(call->getCalledOperand()->stripPointerCasts());
  return function ? std::optional(refer(state_of(ref), static_cast<llvm::Value*>(function))) : std::nullopt;
}

Result<std::vector<ValueRef>> call_arguments(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::CallBase * call, get<llvm::CallBase>(ref));
  std::vector<ValueRef> all;
  for (llvm::Use& argument : call->args()) all.push_back(refer(state_of(ref), argument.get()));
  return all;
}

Result<std::optional<std::pair<std::string, std::string>>> inline_assembly(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::CallBase * call, get<llvm::CallBase>(ref));
  auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
  if (!assembly) return std::optional<std::pair<std::string, std::string>>();
  return std::optional(std::pair(std::string(assembly->getAsmString()), std::string(assembly->getConstraintString())));
}

Result<std::vector<std::pair<ValueRef, ValueRef>>> incoming(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::PHINode * phi, get<llvm::PHINode>(ref));
  std::vector<std::pair<ValueRef, ValueRef>> all;
  for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
    all.emplace_back(refer(state_of(ref), phi->getIncomingValue(i)),
                     refer(state_of(ref), static_cast<llvm::Value*>(phi->getIncomingBlock(i))));
  return all;
}

Status add_incoming(const ValueRef& ref, const ValueRef& value_ref, const ValueRef& block_ref) {
  MNEME_ASSIGN(llvm::PHINode * phi, edit<llvm::PHINode>(ref));
  MNEME_ASSIGN(llvm::Value * value, get_of(state_of(ref), value_ref));
  MNEME_TRY(get_of(state_of(ref), block_ref).status());
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(block_ref));
  if (value->getType() != phi->getType())
    return error(Code::invalid_argument, "adding {} to {}: it is of type {}, not {}", describe(*value), describe(*phi),
                 printed(*value->getType()), printed(*phi->getType()));
  MNEME_TRY(check_operand(phi->getFunction(), *value));
  MNEME_TRY(check_operand(phi->getFunction(), *block));
  phi->addIncoming(value, block);
  return {};
}

Status remove_incoming(const ValueRef& ref, const ValueRef& block_ref) {
  MNEME_ASSIGN(llvm::PHINode * phi, edit<llvm::PHINode>(ref));
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(block_ref));
  const int index = phi->getBasicBlockIndex(block);
  if (index < 0) return error(Code::invalid_argument, "{} has no value for {}", describe(*phi), describe(*block));
  phi->removeIncomingValue(index, false);
  return {};
}

Status move_instruction(const ValueRef& ref, Place place, const ValueRef& other_ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  MNEME_TRY(get_of(state_of(ref), other_ref).status());
  MNEME_ASSIGN(llvm::Instruction * other, get<llvm::Instruction>(other_ref));
  MNEME_ASSIGN(const auto where, position(*instruction, place, *other));
  if (instruction != other) instruction->moveBefore(*other->getParent(), where);
  return {};
}

Result<ValueRef> copy_instruction(const ValueRef& ref, Place place, const ValueRef& other_ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  MNEME_TRY(get_of(state_of(ref), other_ref).status());
  MNEME_ASSIGN(llvm::Instruction * other, get<llvm::Instruction>(other_ref));
  MNEME_ASSIGN(const auto where, position(*instruction, place, *other));
  llvm::Instruction* copy = instruction->clone();
  copy->insertInto(other->getParent(), where);
  return refer(state_of(ref), static_cast<llvm::Value*>(copy));
}

}  // namespace mneme::ir
