#include "mneme/cpu/lower/gpu_arithmetic.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "mneme/cpu/lower/dialect.h"

namespace mneme::cpu {
namespace {

using llvm::Instruction;
using llvm::Value;

// The shift itself stays, as what is selected where the amount is ordinary.
void define_shift(llvm::BinaryOperator& shift, const llvm::DataLayout& layout, LongShift rule) {
  Value* amount = shift.getOperand(1);
  const unsigned width = shift.getType()->getScalarSizeInBits();
  if (llvm::computeKnownBits(amount, layout).getMaxValue().ult(width)) return;
  llvm::IRBuilder<> builder(&shift);
  if (rule == LongShift::wraps) {
    shift.setOperand(1, builder.CreateAnd(amount, llvm::ConstantInt::get(amount->getType(), width - 1)));
    return;
  }
  if (shift.getOpcode() == Instruction::AShr) {
    shift.setOperand(
        1, builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, llvm::ConstantInt::get(amount->getType(), width - 1)));
    return;
  }
  Value* inside = builder.CreateICmpULT(amount, llvm::ConstantInt::get(amount->getType(), width));
  builder.SetInsertPoint(shift.getNextNode());
  llvm::Constant* zero = llvm::Constant::getNullValue(shift.getType());
  auto* result = builder.Insert(llvm::SelectInst::Create(inside, zero, zero));
  shift.replaceAllUsesWith(result);
  result->setOperand(1, &shift);
}

void define_division(llvm::BinaryOperator& division, const llvm::DataLayout& layout) {
  Value* dividend = division.getOperand(0);
  Value* divisor = division.getOperand(1);
  llvm::Type* type = division.getType();
  const unsigned opcode = division.getOpcode();
  const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  const bool remainder = opcode == Instruction::URem || opcode == Instruction::SRem;
  const llvm::KnownBits known = llvm::computeKnownBits(divisor, layout);
  const bool may_be_zero = !known.isNonZero();
  const bool may_overflow = is_signed && !known.isNonNegative() && !known.Zero.getBoolValue();
  if (!may_be_zero && !may_overflow) return;

  llvm::IRBuilder<> builder(&division);
  Value* one = llvm::ConstantInt::get(type, 1);
  Value* ones = llvm::Constant::getAllOnesValue(type);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* by_zero = may_be_zero ? builder.CreateICmpEQ(divisor, zero) : nullptr;
  Value* by_minus_one = may_overflow ? builder.CreateICmpEQ(divisor, ones) : nullptr;
  Value* unusual = by_zero && by_minus_one ? builder.CreateOr(by_zero, by_minus_one) : by_zero ? by_zero : by_minus_one;
  division.setOperand(1, builder.CreateSelect(unusual, one, divisor));

  builder.SetInsertPoint(division.getNextNode());
  Value* placeholder = llvm::PoisonValue::get(type);
  Instruction* innermost = nullptr;
  Value* result = placeholder;
  const auto choose = [&](Value* condition, Value* value) {
    auto* select = builder.Insert(llvm::SelectInst::Create(condition, value, result));
    if (!innermost) innermost = select;
    result = select;
  };
  Value* negated = by_minus_one && !remainder ? builder.CreateNeg(dividend) : zero;
  if (by_minus_one) choose(by_minus_one, negated);
  if (by_zero) choose(by_zero, remainder ? dividend : ones);
  division.replaceAllUsesWith(result);
  innermost->setOperand(2, &division);
}

void define_conversion(llvm::CastInst& conversion) {
  llvm::Type* type = conversion.getType();
  const unsigned width = type->getScalarSizeInBits();
  if (width > 64) return;
  llvm::IRBuilder<> builder(&conversion);
  // The narrowest that the hardware converts to has 16 bits; what is narrower is cut from it.
  llvm::Type* saturated = width < 16 ? type->getWithNewBitWidth(16) : type;
  const auto id = conversion.getOpcode() == Instruction::FPToSI ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* value = builder.CreateIntrinsic(id, {saturated, conversion.getSrcTy()}, {conversion.getOperand(0)});
  value = builder.CreateTrunc(value, type);
  value->takeName(&conversion);
  conversion.replaceAllUsesWith(value);
  conversion.eraseFromParent();
}

llvm::Function* conversion_function(llvm::Module& module, const char* name, llvm::Type* from) {
  auto* type = llvm::FunctionType::get(llvm::Type::getBFloatTy(module.getContext()), {from}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDoesNotThrow();
  llvm::appendToCompilerUsed(module, {function});
  llvm::BasicBlock::Create(module.getContext(), "entry", function);
  return function;
}

// Round to nearest even by adding half of the last kept place; a NaN keeps its upper bits and stays quiet.
Value* round_to_bfloat(llvm::IRBuilder<>& b, Value* number) {
  Value* bits = b.CreateBitCast(number, b.getInt32Ty());
  Value* upper = b.CreateLShr(bits, 16);
  Value* even = b.CreateAnd(upper, 1);
  Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(even, b.getInt32(0x7fff))), 16);
  Value* is_nan = b.CreateFCmpUNO(number, number);
  return b.CreateBitCast(b.CreateTrunc(b.CreateSelect(is_nan, b.CreateOr(upper, 0x40), rounded), b.getInt16Ty()),
                         b.getBFloatTy());
}

// Double to float rounded to odd, so that the second rounding sees that something was cut off.
Value* to_odd_float(llvm::IRBuilder<>& b, Value* number) {
  Value* near = b.CreateFPTrunc(number, b.getFloatTy());
  Value* back = b.CreateFPExt(near, b.getDoubleTy());
  Value* exact = b.CreateFCmpUEQ(back, number);
  Value* bits = b.CreateBitCast(near, b.getInt32Ty());
  Value* is_odd = b.CreateICmpNE(b.CreateAnd(bits, 1), b.getInt32(0));
  Value* away =
      b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, number));
  Value* neighbour = b.CreateSelect(away, b.CreateSub(bits, b.getInt32(1)), b.CreateAdd(bits, b.getInt32(1)));
  Value* odd = b.CreateSelect(b.CreateOr(exact, is_odd), bits, neighbour);
  return b.CreateBitCast(odd, b.getFloatTy());
}

bool uses_bfloat(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (instruction.getType()->getScalarType()->isBFloatTy()) return true;
  return false;
}

}  // namespace

void define_arithmetic(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  const LongShift rule = dialect_of(*function.getParent()).long_shift;
  for (Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    switch (instruction.getOpcode()) {
      case Instruction::Shl:
      case Instruction::LShr:
      case Instruction::AShr: define_shift(llvm::cast<llvm::BinaryOperator>(instruction), layout, rule); break;
      case Instruction::UDiv:
      case Instruction::SDiv:
      case Instruction::URem:
      case Instruction::SRem: define_division(llvm::cast<llvm::BinaryOperator>(instruction), layout); break;
      case Instruction::FPToSI:
      case Instruction::FPToUI: define_conversion(llvm::cast<llvm::CastInst>(instruction)); break;
      default: break;
    }
  }
}

void add_bfloat_conversions(llvm::Module& module) {
  if (!uses_bfloat(module)) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* narrow = conversion_function(module, "__truncsfbf2", llvm::Type::getFloatTy(context));
  llvm::IRBuilder<> builder(&narrow->getEntryBlock());
  builder.CreateRet(round_to_bfloat(builder, narrow->getArg(0)));
  llvm::Function* narrower = conversion_function(module, "__truncdfbf2", llvm::Type::getDoubleTy(context));
  builder.SetInsertPoint(&narrower->getEntryBlock());
  builder.CreateRet(round_to_bfloat(builder, to_odd_float(builder, narrower->getArg(0))));
}

}  // namespace mneme::cpu
