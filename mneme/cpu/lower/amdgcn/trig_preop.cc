#include "mneme/cpu/lower/amdgcn/trig_preop.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <array>

namespace mneme::cpu::amdgcn {
namespace {

constexpr unsigned kSegmentBits = 53, kWordBits = 64;

// The first 1201 bits of 2/pi behind the point, and zeros.
constexpr std::array<uint64_t, 20> kTwoByPi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0x0000000000000000,
};

llvm::GlobalVariable* table(llvm::Module& module) {
  constexpr char kName[] = "__mneme_two_by_pi";
  if (llvm::GlobalVariable* made = module.getNamedGlobal(kName)) return made;
  auto* value = llvm::ConstantDataArray::get(module.getContext(), kTwoByPi);
  return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, kName, nullptr,
                                  llvm::GlobalValue::NotThreadLocal, 0u);
}

}  // namespace

llvm::Value* trig_preop(Emitter& e) {
  constexpr uint32_t kLeastMoving = 1077, kLeastScaled = 1968, kScale = 128, kMostBits = kTwoByPi.size() * kWordBits - kWordBits;
  llvm::IRBuilder<>& ir = e.ir;
  llvm::Value* bits = ir.CreateBitCast(e.argument(0), ir.getInt64Ty());
  llvm::Value* exponent = ir.CreateTrunc(ir.CreateAnd(ir.CreateLShr(bits, 52), 0x7ff), ir.getInt32Ty());
  llvm::Value* moved = ir.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, exponent, ir.getInt32(kLeastMoving));
  llvm::Value* first = ir.CreateAdd(ir.CreateMul(ir.CreateAnd(e.argument(1), 31), ir.getInt32(kSegmentBits)), moved);
  llvm::Value* beyond = ir.CreateICmpUGE(first, ir.getInt32(kMostBits));
  llvm::Value* at = ir.CreateSelect(beyond, ir.getInt32(0), ir.CreateLShr(first, 6));
  llvm::Value* words = table(*e.call.getModule());
  const auto word = [&](llvm::Value* index) {
    llvm::Value* place = ir.CreateInBoundsGEP(ir.getInt64Ty(), words, ir.CreateZExt(index, ir.getInt64Ty()));
    return ir.CreateLoad(ir.getInt64Ty(), place);
  };
  llvm::Value* within = ir.CreateZExt(ir.CreateAnd(first, kWordBits - 1), ir.getInt64Ty());
  llvm::Value* high = word(at);
  llvm::Value* low = word(ir.CreateAdd(at, ir.getInt32(1)));
  llvm::Value* both = ir.CreateIntrinsic(llvm::Intrinsic::fshl, {ir.getInt64Ty()}, {high, low, within});
  llvm::Value* segment = ir.CreateUIToFP(ir.CreateLShr(both, kWordBits - kSegmentBits), ir.getDoubleTy());
  llvm::Value* scale = ir.CreateSub(ir.getInt32(-static_cast<int32_t>(kSegmentBits)), first);
  llvm::Value* large = ir.CreateICmpUGE(exponent, ir.getInt32(kLeastScaled));
  scale = ir.CreateAdd(scale, ir.CreateSelect(large, ir.getInt32(kScale), ir.getInt32(0)));
  llvm::Value* result = ir.CreateIntrinsic(llvm::Intrinsic::ldexp, {ir.getDoubleTy(), ir.getInt32Ty()}, {segment, scale});
  return ir.CreateSelect(beyond, llvm::ConstantFP::get(ir.getDoubleTy(), 0), result);
}

}  // namespace mneme::cpu::amdgcn
