#include "mneme/cpu/ptx/ptx_asm_emit.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <set>

namespace mneme::ptx {

llvm::Type* ir_type(llvm::LLVMContext& context, Type type) {
  llvm::Type* element = llvm::Type::getIntNTy(context, type.bits);
  if (type.kind == TypeKind::real && type.bits == 16) element = llvm::Type::getHalfTy(context);
  if (type.kind == TypeKind::real && type.bits == 32) element = llvm::Type::getFloatTy(context);
  if (type.kind == TypeKind::real && type.bits == 64) element = llvm::Type::getDoubleTy(context);
  if (type.lanes == 1) return element;
  return llvm::FixedVectorType::get(element, type.lanes);
}

llvm::AllocaInst* FunctionLowering::scratch(llvm::Type* type) {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> ir(&entry, entry.begin());
  return ir.CreateAlloca(type, function_.getParent()->getDataLayout().getAllocaAddrSpace());
}

llvm::AllocaInst* FunctionLowering::register_slot(llvm::Type* type) {
  llvm::AllocaInst* slot = scratch(type);
  llvm::IRBuilder<> ir(slot->getNextNode());
  ir.CreateStore(llvm::Constant::getNullValue(type), slot);
  slots_.push_back(slot);
  return slot;
}

llvm::AllocaInst* FunctionLowering::carry() {
  if (!carry_) carry_ = register_slot(llvm::Type::getInt1Ty(function_.getContext()));
  return carry_;
}

void FunctionLowering::finish() {
  if (slots_.empty()) return;
  llvm::DominatorTree dominators(function_);
  llvm::PromoteMemToReg(slots_, dominators);
  slots_.clear();
  carry_ = nullptr;
}

// Where registers live: as values while the code is a straight line, in slots once it branches.
class Emission {
 public:
  Emission(FunctionLowering& function, llvm::CallBase& call, const Program& program)
      : function_(function), call_(call), program_(program), ir_(&call), thread_(ir_, function.thread()) {}

  Status run(llvm::StringRef constraints) {
    MNEME_TRY(bind_arguments(constraints));
    for (const Register& reg : program_.registers) registers_.push_back(cell(reg.type.total_bits(), nullptr));
    for (const Statement& statement : program_.statements) MNEME_TRY(emit(statement));
    if (tail_) {
      if (!ir_.GetInsertBlock()->getTerminator()) ir_.CreateBr(tail_);
      ir_.SetInsertPoint(&call_);
    }
    MNEME_TRY(replace_call());
    return {};
  }

  struct Cell {
    unsigned bits = 0;
    llvm::Value* value = nullptr;  // iN, or a pointer as it came in
    llvm::AllocaInst* slot = nullptr;
    llvm::Type* output = nullptr;  // of the call's result
  };

  Cell* find(const Operand& operand) {
    if (operand.kind == Operand::Kind::reg) return &registers_[operand.index];
    if (operand.kind == Operand::Kind::argument && operand.index < arguments_.size()) return &arguments_[operand.index];
    return nullptr;
  }
  llvm::Value* load(Cell& cell) {
    if (cell.slot) return ir_.CreateLoad(cell.slot->getAllocatedType(), cell.slot);
    return cell.value;
  }
  void store(Cell& cell, llvm::Value* value) {
    if (cell.slot) {
      ir_.CreateStore(value, cell.slot);
    } else {
      cell.value = value;
    }
  }

  void open() {
    if (tail_) return;
    llvm::BasicBlock* head = ir_.GetInsertBlock();
    tail_ = head->splitBasicBlock(call_.getIterator(), "ptx.end");
    head->getTerminator()->eraseFromParent();
    ir_.SetInsertPoint(head);
  }
  llvm::BasicBlock* new_block(const char* name) {
    open();
    return llvm::BasicBlock::Create(ir_.getContext(), name, &function_.function(), tail_);
  }
  llvm::BasicBlock* label(size_t index) {
    if (labels_.empty()) labels_.resize(program_.labels.size());
    if (!labels_[index]) labels_[index] = new_block("ptx.label");
    return labels_[index];
  }

  FunctionLowering& function_;
  llvm::CallBase& call_;
  const Program& program_;
  llvm::IRBuilder<> ir_;
  ThreadState thread_;
  std::set<size_t> placed_;  // labels that stand already

 private:
  Cell cell(unsigned bits, llvm::Value* initial) {
    Cell cell;
    cell.bits = bits;
    llvm::Type* type = ir_.getIntNTy(bits);
    bool memory = program_.has_control_flow();
    if (memory) {
      cell.slot = function_.register_slot(type);
      if (initial && initial->getType()->isPointerTy()) initial = ir_.CreatePtrToInt(initial, type);
      // Also without an initial value: the code may run again, in a loop of the function around it.
      ir_.CreateStore(initial ? initial : llvm::Constant::getNullValue(type), cell.slot);
    } else {
      cell.value = initial ? initial : llvm::Constant::getNullValue(type);
    }
    return cell;
  }

  llvm::Value* as_bits(llvm::Value* value) {
    llvm::Type* type = value->getType();
    if (type->isPointerTy()) return type->getPointerAddressSpace() == 0 ? value : ir_.CreateAddrSpaceCast(value, ir_.getPtrTy());
    if (type->isIntegerTy()) return value;
    return ir_.CreateBitCast(value, ir_.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits())));
  }
  unsigned width(llvm::Type* type) const {
    return type->isPointerTy() ? 64 : static_cast<unsigned>(type->getPrimitiveSizeInBits());
  }

  Status bind_arguments(llvm::StringRef constraints) {
    auto parsed = llvm::InlineAsm::ParseConstraints(constraints);
    if (parsed.empty() && !constraints.empty())
      return error(Code::invalid_argument, "inline PTX with malformed constraints '{}'", constraints.str());
    llvm::Type* result = call_.getType();
    unsigned outputs = 0, inputs = 0;
    for (const auto& constraint : parsed) {
      if (constraint.Type == llvm::InlineAsm::isClobber) continue;
      if (constraint.isIndirect || constraint.Type == llvm::InlineAsm::isLabel)
        return error(Code::unsupported,
                     "inline PTX with the constraints '{}': only operands in registers are available on the CPU device",
                     constraints.str());
      if (constraint.Type == llvm::InlineAsm::isOutput) {
        llvm::Type* type = result->isStructTy() ? result->getStructElementType(outputs) : result;
        ++outputs;
        arguments_.push_back(cell(width(type), nullptr));
        arguments_.back().output = type;
        continue;
      }
      llvm::Value* value = as_bits(call_.getArgOperand(inputs++));
      arguments_.push_back(cell(width(value->getType()), value));
      // A tied input is the output's first value.
      if (!constraint.Codes.empty() &&
          llvm::StringRef(constraint.Codes[0]).find_first_not_of("0123456789") == llvm::StringRef::npos) {
        Cell& output = arguments_[std::stoul(constraint.Codes[0])];
        store(output, integer(value, output.bits));
      }
    }
    return {};
  }
  llvm::Value* integer(llvm::Value* value, unsigned bits) {
    if (value->getType()->isPointerTy()) value = ir_.CreatePtrToInt(value, ir_.getInt64Ty());
    return ir_.CreateZExtOrTrunc(value, ir_.getIntNTy(bits));
  }

  Status replace_call() {
    llvm::Value* result = nullptr;
    llvm::Type* type = call_.getType();
    unsigned index = 0;
    if (type->isStructTy()) result = llvm::PoisonValue::get(type);
    for (Cell& argument : arguments_) {
      if (!argument.output) continue;
      llvm::Value* value = integer(load(argument), argument.bits);
      value =
          argument.output->isPointerTy() ? ir_.CreateIntToPtr(value, argument.output) : ir_.CreateBitCast(value, argument.output);
      result = type->isStructTy() ? ir_.CreateInsertValue(result, value, index++) : value;
    }
    if (result) call_.replaceAllUsesWith(result);
    call_.eraseFromParent();
    return {};
  }

  Status emit(const Statement& statement) {
    if (statement.label) {
      llvm::BasicBlock* block = label(*statement.label);
      if (!ir_.GetInsertBlock()->getTerminator()) ir_.CreateBr(block);
      ir_.SetInsertPoint(block);
      placed_.insert(*statement.label);
      return {};
    }
    const Instruction& instruction = statement.instruction;
    Handler handler = find_handler(instruction.opcode);
    if (!handler)
      return error(Code::unsupported, "inline PTX '{}': {}", instruction.spelling(), why_unsupported(instruction.opcode));
    if (!instruction.guard) return emit(instruction, handler);
    Op op(*this, instruction);
    Operand guard = *instruction.guard;
    llvm::Value* condition = op.in(guard, kPredicate);
    MNEME_TRY(op.status());
    llvm::BasicBlock* then = new_block("ptx.if");
    llvm::BasicBlock* next = new_block("ptx.next");
    ir_.CreateCondBr(condition, then, next);
    ir_.SetInsertPoint(then);
    MNEME_TRY(emit(instruction, handler));
    if (!ir_.GetInsertBlock()->getTerminator()) ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
    return {};
  }
  Status emit(const Instruction& instruction, Handler handler) {
    // What follows a branch and has no label is never reached, but must be well formed.
    if (tail_ && ir_.GetInsertBlock()->getTerminator()) ir_.SetInsertPoint(new_block("ptx.dead"));
    Op op(*this, instruction);
    handler(op);
    return op.finish();
  }

  std::vector<Cell> arguments_;
  std::vector<Cell> registers_;
  std::vector<llvm::BasicBlock*> labels_;
  llvm::BasicBlock* tail_ = nullptr;
};

Status FunctionLowering::emit(llvm::CallBase& call, const Program& program, llvm::StringRef constraints) {
  return Emission(*this, call, program).run(constraints);
}

Op::Op(Emission& emission, const Instruction& instruction)
    : ir(emission.ir_),
      thread(emission.thread_),
      emission_(emission),
      instruction_(instruction),
      taken_(instruction.modifiers.size()) {}

bool Op::flag(std::string_view modifier) { return !choice({modifier}).empty(); }

std::string_view Op::choice(std::initializer_list<std::string_view> modifiers, std::string_view otherwise) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    for (std::string_view modifier : modifiers) {
      if (instruction_.modifiers[i] != modifier) continue;
      taken_[i] = true;
      return instruction_.modifiers[i];
    }
  }
  return otherwise;
}

std::string_view Op::next() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    taken_[i] = true;
    return instruction_.modifiers[i];
  }
  return {};
}

std::optional<Type> Op::maybe_type() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    if (std::optional<Type> type = parse_type(instruction_.modifiers[i])) {
      taken_[i] = true;
      return type;
    }
  }
  return std::nullopt;
}

Type Op::type() {
  std::optional<Type> found = maybe_type();
  if (!found) fail("no type that the CPU device knows");
  return found.value_or(kU32);
}

void Op::ignore_modifiers() { taken_.assign(taken_.size(), true); }

const Operand& Op::operand(size_t index) {
  static const Operand none;
  if (index < count()) return instruction_.operands[index];
  fail(fmt::format("operand {} is missing", index + 1));
  return none;
}

bool Op::expect(size_t least, size_t most) {
  if (count() < least || count() > most) fail(fmt::format("{} operands, which is not a form the CPU device knows", count()));
  return !failed();
}

llvm::Value* Op::zero(Type type) { return llvm::Constant::getNullValue(ir_type(ir.getContext(), type)); }

llvm::Value* Op::in(const Operand& operand, Type type) {
  if (failed()) return zero(type);
  llvm::Type* target = ir_type(ir.getContext(), type);
  unsigned bits = type.total_bits();
  llvm::Value* value = nullptr;
  switch (operand.kind) {
    case Operand::Kind::integer:
      if (type.is_float() && type.lanes == 1 && type.kind == TypeKind::real)
        return llvm::ConstantFP::get(target, static_cast<double>(static_cast<int64_t>(operand.bits)));
      value = llvm::ConstantInt::get(ir.getContext(), llvm::APInt(bits < 64 ? 64 : bits, operand.bits, bits > 64));
      break;
    case Operand::Kind::real32:
    case Operand::Kind::real64: {
      bool single = operand.kind == Operand::Kind::real32;
      llvm::APFloat real(single ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble(),
                         llvm::APInt(single ? 32 : 64, operand.bits));
      bool inexact = false;
      if (type.kind == TypeKind::real && bits == 32 && !single)
        real.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      if (type.kind == TypeKind::real && bits == 64 && single)
        real.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      value = ir.getInt(real.bitcastToAPInt());
      break;
    }
    case Operand::Kind::special:
      value = thread.special_register(operand.name);
      if (!value)
        return fail(fmt::format("the special register %{} is not available on the CPU device", operand.name)), zero(type);
      break;
    case Operand::Kind::vector: {  // packed: the first element is the least significant
      unsigned part = bits / static_cast<unsigned>(operand.elements.size());
      value = ir.getIntN(bits, 0);
      for (size_t i = 0; i < operand.elements.size(); ++i) {
        llvm::Value* element = ir.CreateZExt(in(operand.elements[i], bits_type(part)), ir.getIntNTy(bits));
        value = ir.CreateOr(value, ir.CreateShl(element, part * i));
      }
      break;
    }
    case Operand::Kind::reg:
    case Operand::Kind::argument: {
      Emission::Cell* cell = emission_.find(operand);
      if (!cell) return fail(fmt::format("there is no operand {}", operand.index)), zero(type);
      value = emission_.load(*cell);
      if (value->getType()->isPointerTy()) value = ir.CreatePtrToInt(value, ir.getInt64Ty());
      break;
    }
    case Operand::Kind::symbol:
      return fail(fmt::format("'{}' is no register; other symbols are not available on the CPU device", operand.name)),
             zero(type);
    default: return fail("an operand of a kind that is not possible here"), zero(type);
  }
  value = type.is_signed() ? ir.CreateSExtOrTrunc(value, ir.getIntNTy(bits)) : ir.CreateZExtOrTrunc(value, ir.getIntNTy(bits));
  value = ir.CreateBitCast(value, target);
  if (operand.negative) value = target->isFPOrFPVectorTy() ? ir.CreateFNeg(value) : ir.CreateNeg(value);
  if (operand.inverted) value = ir.CreateNot(value);
  return value;
}

void Op::out(const Operand& operand, llvm::Value* value, Type type) {
  if (failed() || operand.kind == Operand::Kind::sink) return;
  unsigned bits = type.total_bits();
  value = ir.CreateBitCast(value, ir.getIntNTy(bits));
  if (operand.kind == Operand::Kind::vector) {
    unsigned part = bits / static_cast<unsigned>(operand.elements.size());
    for (size_t i = 0; i < operand.elements.size(); ++i)
      out(operand.elements[i], ir.CreateTrunc(ir.CreateLShr(value, part * i), ir.getIntNTy(part)), bits_type(part));
    return;
  }
  Emission::Cell* cell = emission_.find(operand);
  if (!cell) return fail("a result that is no register");
  llvm::Type* target = ir.getIntNTy(cell->bits);
  emission_.store(*cell, type.is_signed() ? ir.CreateSExtOrTrunc(value, target) : ir.CreateZExtOrTrunc(value, target));
}

const Operand& Op::first(size_t index) {
  const Operand& found = operand(index);
  return found.kind == Operand::Kind::pair ? found.elements[0] : found;
}
const Operand& Op::second(size_t index) {
  static const Operand none;
  const Operand& found = operand(index);
  return found.kind == Operand::Kind::pair ? found.elements[1] : none;
}

llvm::Value* Op::pointer(size_t index, std::string_view space) {
  const Operand& found = operand(index);
  llvm::Value* null = llvm::ConstantPointerNull::get(ir.getPtrTy());
  if (failed()) return null;
  if (found.kind != Operand::Kind::address || found.coordinates) return fail("an address in brackets expected"), null;
  bool shared = space.starts_with("shared");
  if (!shared && !space.empty() && space != "global" && space != "const" && space != "local" && space != "param")
    return fail(fmt::format("the state space .{} is not available on the CPU device", space)), null;
  llvm::Value* offset = ir.getInt64(static_cast<uint64_t>(found.offset));
  llvm::Value* base = nullptr;
  for (const Operand& part : found.elements) {
    Emission::Cell* cell = emission_.find(part);
    llvm::Value* value = cell && !cell->slot && !base && !shared ? cell->value : nullptr;
    if (value && value->getType()->isPointerTy()) {
      base = value;  // a pointer that is never an integer keeps what is known of it
      continue;
    }
    offset = ir.CreateAdd(offset, in(part, kU64));
  }
  if (shared) return thread.shared_pointer(offset);
  if (base) return ir.CreateGEP(ir.getInt8Ty(), base, offset);
  return ir.CreateIntToPtr(offset, ir.getPtrTy());
}

uint64_t Op::constant(size_t index) {
  auto* value = llvm::dyn_cast<llvm::ConstantInt>(in(index, kU64));
  if (!value) fail(fmt::format("operand {} must be a constant", index + 1));
  return value ? value->getZExtValue() : 0;
}

llvm::Value* Op::lanes(Type type, llvm::ArrayRef<llvm::Value*> arguments, Lane element) {
  if (type.lanes == 1) return element(arguments);
  llvm::Value* result = nullptr;
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    llvm::SmallVector<llvm::Value*, 3> parts;
    for (llvm::Value* argument : arguments) parts.push_back(ir.CreateExtractElement(argument, lane));
    llvm::Value* value = element(parts);
    if (!result) result = llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), type.lanes));
    result = ir.CreateInsertElement(result, value, lane);
  }
  return result;
}

FunctionLowering& Op::function() { return emission_.function_; }
llvm::BasicBlock* Op::new_block(const char* name) { return emission_.new_block(name); }
void Op::open_control_flow() { emission_.open(); }

llvm::BasicBlock* Op::label(const Operand& operand) {
  if (operand.kind == Operand::Kind::label) return emission_.label(operand.index);
  fail("a branch to a label that is not in the same statement");
  return nullptr;
}

bool Op::is_behind(const Operand& label) { return label.kind == Operand::Kind::label && emission_.placed_.contains(label.index); }

void Op::return_from_function() {
  llvm::Type* type = function().function().getReturnType();
  emission_.open();
  if (!type->isVoidTy()) return fail("returns from a function that has a result");
  ir.CreateRetVoid();
}

void Op::fail(std::string_view why) {
  if (status_.ok()) status_ = error(Code::unsupported, "inline PTX '{}': {}", instruction_.spelling(), why);
}

Status Op::finish() {
  for (size_t i = 0; i < taken_.size() && status_.ok(); ++i)
    if (!taken_[i]) fail(fmt::format("the modifier .{} is not available on the CPU device", instruction_.modifiers[i]));
  return status_;
}

}  // namespace mneme::ptx
