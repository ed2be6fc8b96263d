// What concerns other threads and the way of this one: barriers, warp collectives, branches, exit, trap, nanosleep; and the
// opcode table itself with what is refused.
#include <array>
#include <map>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/run/image.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

Value* widen(Op& op, Value* predicate) { return op.ir.CreateZExt(predicate, op.ir.getInt32Ty()); }
Value* nonzero(Op& op, Value* value) { return op.ir.CreateICmpNE(value, op.i32(0)); }

void warp_barrier(Op& op) {
  if (!op.flag("sync")) return op.fail("a form that the CPU device does not know");
  if (op.expect(1, 1)) op.thread.call(CpuService::warp_sync, {op.in(0, kU32)});
}

void barrier(Op& op) {
  if (op.flag("cluster")) return op.fail("cluster instructions are not available on the CPU device");
  if (op.flag("warp")) return warp_barrier(op);
  op.flag("cta");
  op.flag("aligned");
  std::string_view kind = op.choice({"sync", "arrive", "red"});
  if (kind == "red") {
    std::string_view operation = op.choice({"popc", "and", "or"});
    Type type = op.type();
    if (!op.expect(3, 4)) return;
    bool counted = op.count() == 4;
    uint32_t reduce = operation == "popc"  ? MNEME_CPU_REDUCE_POPC
                      : operation == "and" ? MNEME_CPU_REDUCE_AND
                                           : MNEME_CPU_REDUCE_OR;
    Value* predicate = widen(op, op.in(counted ? 3 : 2, kPredicate));
    Value* result = op.thread.call(CpuService::barrier_reduce,
                                   {op.in(1, kU32), counted ? op.in(2, kU32) : op.i32(0), op.i32(reduce), predicate});
    return type == kPredicate ? op.out(0, nonzero(op, result), kPredicate) : op.out(0, result, kU32);
  }
  if (!op.expect(1, 2)) return;
  if (kind.empty()) return op.fail("a form that the CPU device does not know");
  Value* threads = op.count() == 2 ? op.in(1, kU32) : op.i32(0);
  op.thread.call(kind == "sync" ? CpuService::barrier : CpuService::barrier_arrive, {op.in(0, kU32), threads});
}

Value* members(Op& op, bool sync, size_t index) {
  return sync ? op.in(index, kU32) : op.thread.call(CpuService::active_mask, {});
}

void shuffle(Op& op) {
  bool sync = op.flag("sync");
  std::string_view mode = op.choice({"up", "down", "bfly", "idx"});
  Type type = op.type();
  if (!op.expect(sync ? 5 : 4, sync ? 5 : 4)) return;
  uint32_t service = mode == "up"     ? MNEME_CPU_SHUFFLE_UP
                     : mode == "down" ? MNEME_CPU_SHUFFLE_DOWN
                     : mode == "bfly" ? MNEME_CPU_SHUFFLE_BFLY
                                      : MNEME_CPU_SHUFFLE_IDX;
  Value* in_range = op.function().scratch(op.ir.getInt32Ty());
  Value* value = op.in(1, bits_type(type.bits));
  Value* result = op.thread.call(CpuService::shuffle,
                                 {members(op, sync, 4), op.i32(service), value, op.in(2, kU32), op.in(3, kU32), in_range});
  op.out(op.first(0), result, bits_type(32));
  op.out(op.second(0), nonzero(op, op.ir.CreateLoad(op.ir.getInt32Ty(), in_range)), kPredicate);
}

void vote(Op& op) {
  bool sync = op.flag("sync");
  std::string_view mode = op.choice({"all", "any", "uni", "ballot"});
  Type type = op.type();
  if (!op.expect(sync ? 3 : 2, sync ? 3 : 2)) return;
  uint32_t service = mode == "all"   ? MNEME_CPU_VOTE_ALL
                     : mode == "any" ? MNEME_CPU_VOTE_ANY
                     : mode == "uni" ? MNEME_CPU_VOTE_UNI
                                     : MNEME_CPU_VOTE_BALLOT;
  Value* result = op.thread.call(CpuService::vote, {members(op, sync, 2), op.i32(service), widen(op, op.in(1, kPredicate))});
  type == kPredicate ? op.out(0, nonzero(op, result), kPredicate) : op.out(0, result, kU32);
}

void match(Op& op) {
  std::string_view mode = op.choice({"any", "all"});
  op.flag("sync");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* value = op.in(1, Type{TypeKind::unsigned_integer, type.bits});
  value = op.ir.CreateZExt(value, op.ir.getInt64Ty());
  if (mode == "any") return op.out(0, op.thread.call(CpuService::match_any, {op.in(2, kU32), value}), kU32);
  Value* same = op.function().scratch(op.ir.getInt32Ty());
  op.out(op.first(0), op.thread.call(CpuService::match_all, {op.in(2, kU32), value, same}), kU32);
  op.out(op.second(0), nonzero(op, op.ir.CreateLoad(op.ir.getInt32Ty(), same)), kPredicate);
}

void reduce(Op& op) {
  op.flag("sync");
  std::string_view name = op.choice({"add", "min", "max", "and", "or", "xor"});
  Type type = op.type();
  if (type.is_float()) return op.fail("reductions of floats are not available on the CPU device");
  if (!op.expect(3, 3)) return;
  uint32_t service = name == "add"   ? MNEME_CPU_REDUCE_ADD
                     : name == "min" ? (type.is_signed() ? MNEME_CPU_REDUCE_MIN : MNEME_CPU_REDUCE_UMIN)
                     : name == "max" ? (type.is_signed() ? MNEME_CPU_REDUCE_MAX : MNEME_CPU_REDUCE_UMAX)
                     : name == "and" ? MNEME_CPU_REDUCE_AND
                     : name == "or"  ? MNEME_CPU_REDUCE_OR
                                     : MNEME_CPU_REDUCE_XOR;
  op.out(0, op.thread.call(CpuService::reduce, {op.in(2, kU32), op.i32(service), op.in(1, bits_type(32))}), bits_type(32));
}

void active_mask(Op& op) {
  op.type();
  if (op.expect(1, 1)) op.out(0, op.thread.call(CpuService::active_mask, {}), kU32);
}

// The lowest lane of those that take part.
void elect(Op& op) {
  op.flag("sync");
  if (!op.expect(2, 2)) return;
  Value* present = op.thread.call(CpuService::vote, {op.in(1, kU32), op.i32(MNEME_CPU_VOTE_BALLOT), op.i32(1)});
  Value* leader = op.ir.CreateIntrinsic(llvm::Intrinsic::cttz, {op.ir.getInt32Ty()}, {present, op.ir.getFalse()});
  op.out(op.first(0), leader, kU32);
  op.out(op.second(0), op.ir.CreateICmpEQ(leader, op.thread.lane()), kPredicate);
}

void branch(Op& op) {
  op.flag("uni");
  if (!op.expect(1, 1)) return;
  llvm::BasicBlock* target = op.label(op.operand(0));
  if (op.failed()) return;
  if (op.is_behind(op.operand(0))) op.thread.call(CpuService::yield, {});  // what is waited for may be another thread's to do
  op.open_control_flow();
  op.ir.CreateBr(target);
}

void ret(Op& op) {
  op.flag("uni");
  op.return_from_function();
}

void nanosleep(Op& op) {
  op.type();
  if (op.expect(1, 1)) op.thread.call(CpuService::yield, {});
}
void exit_thread(Op& op) { op.thread.call(CpuService::exit, {}); }
void trap(Op& op) { op.thread.call(CpuService::trap, {}); }
void nothing(Op& op) { op.ignore_modifiers(); }

}  // namespace

std::span<const Entry> thread_instructions() {
  static constexpr std::array table = {
      Entry{"bar", barrier},
      Entry{"barrier", barrier},
      Entry{"shfl", shuffle},
      Entry{"vote", vote},
      Entry{"match", match},
      Entry{"redux", reduce},
      Entry{"activemask", active_mask},
      Entry{"elect", elect},
      Entry{"bra", branch},
      Entry{"ret", ret},
      Entry{"exit", exit_thread},
      Entry{"trap", trap},
      Entry{"brkpt", trap},
      Entry{"nanosleep", nanosleep},
      Entry{"griddepcontrol", nothing},
      Entry{"pmevent", nothing},
      Entry{"setmaxnreg", nothing},
  };
  return table;
}

Handler find_handler(std::string_view opcode) {
  static const std::map<std::string_view, Handler> table = [] {
    std::map<std::string_view, Handler> all;
    for (auto family :
         {integer_instructions(), bit_instructions(), simd_instructions(), float_instructions(), select_instructions(),
          convert_instructions(), memory_instructions(), atomic_instructions(), texture_instructions(), thread_instructions()})
      for (const Entry& entry : family) all.emplace(entry.opcode, entry.handler);
    return all;
  }();
  auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

std::string_view why_unsupported(std::string_view opcode) {
  struct Row {
    std::string_view prefix, why;
  };
  static constexpr std::array rows = {
      Row{"mma", "matrix instructions are not available on the CPU device"},
      Row{"wmma", "matrix instructions are not available on the CPU device"},
      Row{"wgmma", "matrix instructions are not available on the CPU device"},
      Row{"tcgen05", "matrix instructions are not available on the CPU device"},
      Row{"ldmatrix", "matrix instructions are not available on the CPU device"},
      Row{"stmatrix", "matrix instructions are not available on the CPU device"},
      Row{"movmatrix", "matrix instructions are not available on the CPU device"},
      Row{"cp", "asynchronous copies are not available on the CPU device"},
      Row{"st.async", "asynchronous copies are not available on the CPU device"},
      Row{"mbarrier", "mbarrier instructions are not available on the CPU device"},
      Row{"tensormap", "tensor maps are not available on the CPU device"},
      Row{"barrier.cluster", "cluster instructions are not available on the CPU device"},
      Row{"mapa", "cluster instructions are not available on the CPU device"},
      Row{"getctarank", "cluster instructions are not available on the CPU device"},
      Row{"clusterlaunchcontrol", "cluster instructions are not available on the CPU device"},
      Row{"multimem", "multimem instructions are not available on the CPU device"},
      Row{"txq", "queries of textures are not available on the CPU device"},
      Row{"istypep", "queries of textures are not available on the CPU device"},
      Row{"suld", "surface intrinsics are not available on the CPU device"},
      Row{"sust", "surface intrinsics are not available on the CPU device"},
      Row{"sured", "reductions in surfaces are not available on the CPU device"},
      Row{"suq", "queries of surfaces are not available on the CPU device"},
      Row{"call", "calls are not available in inline PTX on the CPU device"},
  };
  for (const Row& row : rows)
    if (opcode == row.prefix) return row.why;
  return "the CPU device does not know this instruction";
}

}  // namespace mneme::ptx
