#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "mneme/cpu/lower/amdgcn/emitter.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu::amdgcn {
namespace {

using namespace llvm::Intrinsic;
using llvm::Value;

template <unsigned axis>
Value* work_item(Emitter& e) {
  return e.state.thread_index(axis);
}
template <unsigned axis>
Value* work_group(Emitter& e) {
  return e.state.block_index(axis);
}

// Nothing writes there while a kernel runs, which lets a loop over work-items read once.
void mark_invariant(Value& pointer, unsigned depth = 0) {
  constexpr unsigned kDeepest = 8;
  for (llvm::User* user : pointer.users()) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user); load && load->isSimple())
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
    if (llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst>(user) && depth < kDeepest) mark_invariant(*user, depth + 1);
  }
}

Value* at_dispatch(Emitter& e, uint64_t offset) {
  mark_invariant(e.call);
  Value* begin = e.ir.CreateConstInBoundsGEP1_64(e.ir.getInt8Ty(), e.state.dispatch(), offset);
  return e.ir.CreateAddrSpaceCast(begin, e.call.getType());
}
Value* dispatch_packet(Emitter& e) { return at_dispatch(e, 0); }
Value* implicit_arguments(Emitter& e) { return at_dispatch(e, MNEME_CPU_IMPLICIT_ARGUMENTS); }

Value* kernel_arguments(Emitter& e) {
  Value* at =
      e.ir.CreateConstInBoundsGEP1_64(e.ir.getInt8Ty(), e.state.dispatch(), offsetof(mneme_cpu_dispatch, kernarg_address));
  return e.ir.CreateAddrSpaceCast(e.ir.CreateLoad(e.ir.getPtrTy(), at), e.call.getType());
}

Value* zero(Emitter& e) { return llvm::Constant::getNullValue(e.call.getType()); }
Value* wave_size(Emitter& e) { return e.ir.getInt32(e.warp_size); }
Value* static_lds(Emitter& e) { return e.ir.CreateSub(e.state.shared_bytes(), e.state.dynamic_shared_bytes()); }

Value* is_lds(Emitter& e) { return e.state.in_shared(e.argument(0)); }
Value* is_private(Emitter& e) {
  return e.ir.CreateICmpNE(e.state.call(ptx::CpuService::in_stack, {e.argument(0)}), e.ir.getInt32(0));
}

constexpr Row kRows[] = {
    {amdgcn_workitem_id_x, work_item<0>},
    {amdgcn_workitem_id_y, work_item<1>},
    {amdgcn_workitem_id_z, work_item<2>},
    {amdgcn_workgroup_id_x, work_group<0>},
    {amdgcn_workgroup_id_y, work_group<1>},
    {amdgcn_workgroup_id_z, work_group<2>},
    {amdgcn_dispatch_ptr, dispatch_packet},
    {amdgcn_dispatch_id, zero},
    {amdgcn_implicitarg_ptr, implicit_arguments},
    {amdgcn_kernarg_segment_ptr, kernel_arguments},
    {amdgcn_wavefrontsize, wave_size},
    {amdgcn_groupstaticsize, static_lds},
    {amdgcn_is_shared, is_lds},
    {amdgcn_is_private, is_private},
};

}  // namespace

std::span<const Row> launch_rows() { return kRows; }

}  // namespace mneme::cpu::amdgcn
