#include "mneme/cpu/lower/amdgcn/emitter.h"

#include <llvm/ADT/DenseMap.h>

#include "mneme/cpu/run/image.h"

namespace mneme::cpu::amdgcn {
namespace {

constexpr unsigned kWordBits = 64;

// The bits of a value that lies in a register; 0 for others.
unsigned bits_of(llvm::Type* type, const llvm::DataLayout& layout) {
  if (!type->isSingleValueType()) return 0;
  return static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
}

}  // namespace

uint64_t Emitter::constant(unsigned i) const {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(argument(i));
  return number ? number->getZExtValue() : 0;
}

llvm::Value* Emitter::to_word(llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return ir.CreatePtrToInt(value, ir.getInt64Ty());
  const unsigned bits = bits_of(type, call.getDataLayout());
  if (bits == 0 || bits > kWordBits) return nullptr;
  return ir.CreateZExt(ir.CreateBitCast(value, ir.getIntNTy(bits)), ir.getInt64Ty());
}

llvm::Value* Emitter::from_word(llvm::Value* word, llvm::Type* type) {
  if (type->isPointerTy()) return ir.CreateIntToPtr(word, type);
  const unsigned bits = bits_of(type, call.getDataLayout());
  if (bits == 0 || bits > kWordBits) return nullptr;
  return ir.CreateBitCast(ir.CreateTrunc(word, ir.getIntNTy(bits)), type);
}

llvm::Value* Emitter::ballot(llvm::Value* predicate) {
  return state.call(ptx::CpuService::wave_ballot, {ir.getInt32(site), ir.CreateZExt(predicate, ir.getInt32Ty())});
}

std::pair<llvm::Value*, llvm::Value*> Emitter::read(llvm::Value* word, llvm::Value* source) {
  llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
  llvm::IRBuilder<> at_begin(&entry, entry.begin());
  llvm::Value* there = at_begin.CreateAlloca(ir.getInt32Ty(), 0u);
  llvm::Value* value = state.call(ptx::CpuService::wave_read, {ir.getInt32(site), word, source, there});
  return {value, ir.CreateICmpNE(ir.CreateLoad(ir.getInt32Ty(), there), ir.getInt32(0))};
}

llvm::Value* Emitter::lane_within(llvm::Value* lane) { return ir.CreateAnd(lane, warp_size - 1); }

const Row* find_row(llvm::Intrinsic::ID id) {
  static const auto rows = [] {
    llvm::DenseMap<unsigned, const Row*> found;
    for (auto list : {launch_rows(), lane_rows(), system_rows(), float_rows(), bit_rows()})
      for (const Row& row : list) found[row.id] = &row;
    return found;
  }();
  return rows.lookup(id);
}

}  // namespace mneme::cpu::amdgcn
