#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "mneme/cpu/lower/amdgcn/emitter.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu::amdgcn {
namespace {

using namespace llvm::Intrinsic;
using llvm::Value;

constexpr unsigned kRow = 16, kBank = 4;  // lanes of a row, and of a bank of a row

// A lane that a value is taken from, and whether there is one.
struct Source {
  Value* lane;   // i32
  Value* valid;  // i1
};

// The controls of DPP, as the ISA numbers them.
enum Dpp : uint64_t {
  kQuadLast = 0xff,
  kRowShiftLeft = 0x100,
  kRowShiftRight = 0x110,
  kRowRotateRight = 0x120,
  kWaveShiftLeft = 0x130,
  kWaveRotateLeft = 0x134,
  kWaveShiftRight = 0x138,
  kWaveRotateRight = 0x13c,
  kRowMirror = 0x140,
  kRowHalfMirror = 0x141,
  kRowBroadcast15 = 0x142,
  kRowBroadcast31 = 0x143,
  kRowShare = 0x150,
  kRowXor = 0x160,
};

// Lane of the quad, by two bits of the control for each.
Value* permuted_quad(Emitter& e, Value* lane, uint64_t control) {
  Value* shift = e.ir.CreateShl(e.ir.CreateAnd(lane, 3), 1);
  Value* chosen = e.ir.CreateAnd(e.ir.CreateLShr(e.ir.getInt32(static_cast<uint32_t>(control)), shift), 3);
  return e.ir.CreateOr(e.ir.CreateAnd(lane, ~3u), chosen);
}

// The lane itself in its row, moved by `by`; not valid beyond the row.
Source moved_in_row(Emitter& e, Value* lane, int by) {
  Value* place = e.ir.CreateAdd(e.ir.CreateAnd(lane, kRow - 1), e.ir.getInt32(static_cast<uint32_t>(by)));
  Value* row = e.ir.CreateAnd(lane, ~(kRow - 1));
  return {e.ir.CreateAdd(row, place), e.ir.CreateICmpULT(place, e.ir.getInt32(kRow))};
}

// Null lane: a control that the ISA does not have.
Source dpp_source(Emitter& e, uint64_t control) {
  llvm::IRBuilder<>& ir = e.ir;
  Value* lane = e.state.lane();
  Value* always = ir.getTrue();
  Value* row = ir.CreateAnd(lane, ~(kRow - 1));
  const auto in_row = [&](Value* place) { return Source{ir.CreateOr(row, ir.CreateAnd(place, kRow - 1)), always}; };
  const auto by = static_cast<int>(control & 0xf);
  if (control <= kQuadLast) return {permuted_quad(e, lane, control), always};
  if (control > kRowShiftLeft && control < kRowShiftLeft + kRow) return moved_in_row(e, lane, by);
  if (control > kRowShiftRight && control < kRowShiftRight + kRow) return moved_in_row(e, lane, -by);
  if (control > kRowRotateRight && control < kRowRotateRight + kRow)
    return in_row(ir.CreateSub(lane, ir.getInt32(control & 0xf)));
  if (control >= kRowShare && control < kRowShare + kRow) return in_row(ir.getInt32(control & 0xf));
  if (control >= kRowXor && control < kRowXor + kRow) return in_row(ir.CreateXor(lane, control & 0xf));
  Value* next = ir.CreateAdd(lane, ir.getInt32(1));
  Value* previous = ir.CreateSub(lane, ir.getInt32(1));
  switch (control) {
    case kWaveShiftLeft: return {next, ir.CreateICmpULT(next, ir.getInt32(e.warp_size))};
    case kWaveShiftRight: return {previous, ir.CreateICmpULT(previous, ir.getInt32(e.warp_size))};
    case kWaveRotateLeft: return {e.lane_within(next), always};
    case kWaveRotateRight: return {e.lane_within(previous), always};
    case kRowMirror: return {ir.CreateXor(lane, kRow - 1), always};
    case kRowHalfMirror: return {ir.CreateXor(lane, kRow / 2 - 1), always};
    case kRowBroadcast15: return {ir.CreateSub(row, ir.getInt32(1)), ir.CreateICmpUGE(lane, ir.getInt32(kRow))};
    case kRowBroadcast31: return {ir.getInt32(31), ir.CreateICmpUGE(lane, ir.getInt32(32))};
    default: return {nullptr, nullptr};
  }
}

// The bit of a mask that `number` counts, as i1.
Value* bit_at(Emitter& e, uint64_t mask, Value* number) {
  return e.ir.CreateTrunc(e.ir.CreateLShr(e.ir.getInt32(static_cast<uint32_t>(mask)), number), e.ir.getInt1Ty());
}

// `value` of the source lane; what replaces it where there is none is `old`, or zero as `zeros` says.
Value* take(Emitter& e, Value* value, const Source& source, Value* enabled, Value* old, bool zeros) {
  llvm::Type* type = e.call.getType();
  Value* word = e.to_word(value);
  if (!word || !source.lane) return nullptr;
  auto [taken, there] = e.read(word, e.ir.CreateSelect(source.valid, source.lane, e.state.lane()));
  Value* got = e.ir.CreateAnd(there, source.valid);
  Value* without = zeros ? llvm::Constant::getNullValue(type) : old;
  Value* result = e.ir.CreateSelect(got, e.from_word(taken, type), without);
  return e.ir.CreateSelect(enabled, result, old);
}

Value* dpp(Emitter& e, Value* old, Value* value, unsigned first) {
  const uint64_t row_mask = e.constant(first + 1), bank_mask = e.constant(first + 2);
  const bool zeros = e.constant(first + 3) != 0;
  Value* lane = e.state.lane();
  Value* row = e.ir.CreateLShr(lane, llvm::Log2_32(kRow));
  Value* bank = e.ir.CreateAnd(e.ir.CreateLShr(lane, llvm::Log2_32(kBank)), kBank - 1);
  Value* enabled = e.ir.CreateAnd(bit_at(e, row_mask, row), bit_at(e, bank_mask, bank));
  return take(e, value, dpp_source(e, e.constant(first)), enabled, old, zeros);
}
Value* update_dpp(Emitter& e) { return dpp(e, e.argument(0), e.argument(1), 2); }
Value* mov_dpp(Emitter& e) { return dpp(e, llvm::Constant::getNullValue(e.call.getType()), e.argument(0), 1); }

Value* mov_dpp8(Emitter& e) {
  Value* lane = e.state.lane();
  Value* shift = e.ir.CreateMul(e.ir.CreateAnd(lane, 7), e.ir.getInt32(3));
  Value* chosen = e.ir.CreateAnd(e.ir.CreateLShr(e.ir.getInt32(static_cast<uint32_t>(e.constant(1))), shift), 7);
  Source source{e.ir.CreateOr(e.ir.CreateAnd(lane, ~7u), chosen), e.ir.getTrue()};
  return take(e, e.argument(0), source, e.ir.getTrue(), llvm::Constant::getNullValue(e.call.getType()), true);
}

// permlane16 and permlanex16: old, value, two words of sixteen numbers of lanes, fetch inactive, bound control.
Value* permute_row(Emitter& e, unsigned other_row) {
  llvm::IRBuilder<>& ir = e.ir;
  Value* lane = e.state.lane();
  Value* shift = ir.CreateShl(ir.CreateAnd(lane, 7), 2);
  Value* upper = ir.CreateICmpNE(ir.CreateAnd(lane, 8), ir.getInt32(0));
  Value* numbers = ir.CreateSelect(upper, e.argument(3), e.argument(2));
  Value* place = ir.CreateAnd(ir.CreateLShr(numbers, shift), kRow - 1);
  Value* row = ir.CreateXor(ir.CreateAnd(lane, ~(kRow - 1)), other_row);
  return take(e, e.argument(1), {ir.CreateOr(row, place), ir.getTrue()}, ir.getTrue(), e.argument(0), e.constant(5) != 0);
}
Value* permlane16(Emitter& e) { return permute_row(e, 0); }
Value* permlanex16(Emitter& e) { return permute_row(e, kRow); }
Value* permlane64(Emitter& e) {
  Source source{e.lane_within(e.ir.CreateXor(e.state.lane(), 32)), e.ir.getTrue()};
  return take(e, e.argument(0), source, e.ir.getTrue(), e.argument(0), false);
}

Value* zeros_of(Emitter& e) { return llvm::Constant::getNullValue(e.call.getType()); }

// ds_bpermute: the address counts bytes of a register that all lanes have.
Value* bpermute(Emitter& e) {
  Source source{e.lane_within(e.ir.CreateLShr(e.argument(0), 2)), e.ir.getTrue()};
  return take(e, e.argument(1), source, e.ir.getTrue(), zeros_of(e), true);
}
Value* permute(Emitter& e) {
  Value* target = e.lane_within(e.ir.CreateLShr(e.argument(0), 2));
  return e.from_word(e.state.call(ptx::CpuService::wave_push, {e.ir.getInt32(e.site), e.to_word(e.argument(1)), target}),
                     e.call.getType());
}
Value* wave_shuffle(Emitter& e) {
  Source source{e.lane_within(e.argument(1)), e.ir.getTrue()};
  return take(e, e.argument(0), source, e.ir.getTrue(), zeros_of(e), true);
}

Value* swizzle(Emitter& e) {
  constexpr uint64_t kQuads = 0x8000, kLastQuad = 0x80ff;
  const uint64_t pattern = e.constant(1);
  Value* lane = e.state.lane();
  Value* source = nullptr;
  if (pattern < kQuads) {
    Value* place = e.ir.CreateOr(e.ir.CreateAnd(e.ir.CreateAnd(lane, 31), pattern & 31), pattern >> 5 & 31);
    place = e.ir.CreateXor(place, pattern >> 10 & 31);
    source = e.ir.CreateOr(e.ir.CreateAnd(lane, ~31u), place);
  } else if (pattern <= kLastQuad) {
    source = permuted_quad(e, lane, pattern & 0xff);
  }
  return take(e, e.argument(0), {source, e.ir.getTrue()}, e.ir.getTrue(), zeros_of(e), true);
}

Value* read_lane(Emitter& e, Value* source) {
  Value* word = e.to_word(e.argument(0));
  return word ? e.from_word(e.read(word, source).first, e.call.getType()) : nullptr;
}
Value* readlane(Emitter& e) { return read_lane(e, e.ir.CreateOr(e.lane_within(e.argument(1)), MNEME_CPU_LANE_MUST_BE_THERE)); }
Value* readfirstlane(Emitter& e) { return read_lane(e, e.ir.getInt32(MNEME_CPU_FIRST_LANE)); }

// value, lane, old
Value* writelane(Emitter& e) {
  Value* mine = e.ir.CreateICmpEQ(e.state.lane(), e.lane_within(e.argument(1)));
  return e.ir.CreateSelect(mine, e.argument(0), e.argument(2));
}

Value* as_result(Emitter& e, Value* lanes) { return e.ir.CreateZExtOrTrunc(lanes, e.call.getType()); }
Value* ballot(Emitter& e) { return as_result(e, e.ballot(e.argument(0))); }
Value* compare(Emitter& e) {
  const auto predicate = static_cast<llvm::CmpInst::Predicate>(e.constant(2));
  const bool known = llvm::CmpInst::isIntPredicate(predicate) || llvm::CmpInst::isFPPredicate(predicate);
  if (!known || llvm::CmpInst::isIntPredicate(predicate) != e.argument(0)->getType()->isIntOrIntVectorTy()) return nullptr;
  return as_result(e, e.ballot(e.ir.CreateCmp(predicate, e.argument(0), e.argument(1))));
}
Value* inverse_ballot(Emitter& e) {
  Value* mask = e.ir.CreateZExt(e.argument(0), e.ir.getInt64Ty());
  return e.ir.CreateTrunc(e.ir.CreateLShr(mask, e.ir.CreateZExt(e.state.lane(), e.ir.getInt64Ty())), e.ir.getInt1Ty());
}

// How many bits of the mask there are below the lane, of which half the mask is for; and a number.
Value* count_below(Emitter& e, unsigned shift) {
  llvm::IRBuilder<>& ir = e.ir;
  Value* one = ir.getInt64(1);
  Value* below = ir.CreateSub(ir.CreateShl(one, ir.CreateZExt(e.state.lane(), ir.getInt64Ty())), one);
  Value* half = ir.CreateTrunc(ir.CreateLShr(below, shift), ir.getInt32Ty());
  Value* count = ir.CreateUnaryIntrinsic(ctpop, ir.CreateAnd(half, e.argument(0)));
  return ir.CreateAdd(count, e.argument(1));
}
Value* mbcnt_lo(Emitter& e) { return count_below(e, 0); }
Value* mbcnt_hi(Emitter& e) { return count_below(e, 32); }

constexpr Row kRows[] = {
    {amdgcn_update_dpp, update_dpp, Meets::wave},
    {amdgcn_mov_dpp, mov_dpp, Meets::wave},
    {amdgcn_mov_dpp8, mov_dpp8, Meets::wave},
    {amdgcn_permlane16, permlane16, Meets::wave},
    {amdgcn_permlanex16, permlanex16, Meets::wave},
    {amdgcn_permlane64, permlane64, Meets::wave},
    {amdgcn_ds_bpermute, bpermute, Meets::wave},
    {amdgcn_ds_permute, permute, Meets::wave},
    {amdgcn_ds_swizzle, swizzle, Meets::wave},
    {amdgcn_wave_shuffle, wave_shuffle, Meets::wave},
    {amdgcn_readlane, readlane, Meets::wave},
    {amdgcn_readfirstlane, readfirstlane, Meets::wave},
    {amdgcn_writelane, writelane},
    {amdgcn_ballot, ballot, Meets::wave},
    {amdgcn_icmp, compare, Meets::wave},
    {amdgcn_fcmp, compare, Meets::wave},
    {amdgcn_inverse_ballot, inverse_ballot},
    {amdgcn_mbcnt_lo, mbcnt_lo},
    {amdgcn_mbcnt_hi, mbcnt_hi},
};

}  // namespace

std::span<const Row> lane_rows() { return kRows; }

}  // namespace mneme::cpu::amdgcn
