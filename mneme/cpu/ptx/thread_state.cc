#include "mneme/cpu/ptx/thread_state.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

#include <array>
#include <cstddef>

#include "mneme/cpu/run/image.h"

namespace mneme::ptx {

using llvm::Value;

Value* ThreadState::load(Value* base, uint64_t offset, llvm::Type* type, const char* name) {
  Value* pointer = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  llvm::LoadInst* value = builder_.CreateLoad(type, pointer, name);
  // In loop mode one thread object serves all threads in turn; only what it points to stays.
  if (base != thread_) value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder_.getContext(), {}));
  return value;
}

Value* ThreadState::block() { return load(thread_, offsetof(mneme_cpu_thread, block), builder_.getPtrTy(), "block"); }

Value* ThreadState::thread_index(unsigned axis) {
  return load(thread_, offsetof(mneme_cpu_thread, index) + 4 * axis, builder_.getInt32Ty(), "thread.index");
}
Value* ThreadState::lane() { return load(thread_, offsetof(mneme_cpu_thread, lane), builder_.getInt32Ty(), "lane"); }
Value* ThreadState::warp() { return load(thread_, offsetof(mneme_cpu_thread, warp), builder_.getInt32Ty(), "warp"); }
Value* ThreadState::block_index(unsigned axis) {
  return load(block(), offsetof(mneme_cpu_block, index) + 4 * axis, builder_.getInt32Ty(), "block.index");
}
Value* ThreadState::block_dim(unsigned axis) {
  return load(block(), offsetof(mneme_cpu_block, block) + 4 * axis, builder_.getInt32Ty(), "block.dim");
}
Value* ThreadState::grid_dim(unsigned axis) {
  return load(block(), offsetof(mneme_cpu_block, grid) + 4 * axis, builder_.getInt32Ty(), "grid.dim");
}
Value* ThreadState::worker() { return load(block(), offsetof(mneme_cpu_block, worker), builder_.getInt32Ty(), "worker"); }
Value* ThreadState::dynamic_shared_bytes() {
  return load(block(), offsetof(mneme_cpu_block, dynamic_shared_bytes), builder_.getInt32Ty(), "dynamic.shared");
}
Value* ThreadState::shared_bytes() {
  return load(block(), offsetof(mneme_cpu_block, shared_bytes), builder_.getInt32Ty(), "shared.bytes");
}
Value* ThreadState::shared_base() { return load(block(), offsetof(mneme_cpu_block, shared), builder_.getPtrTy(), "shared"); }

Value* ThreadState::grid_workspace() {
  return load(block(), offsetof(mneme_cpu_block, grid_workspace), builder_.getPtrTy(), "grid.workspace");
}

Value* ThreadState::dispatch() { return load(block(), offsetof(mneme_cpu_block, dispatch), builder_.getPtrTy(), "dispatch"); }

Value* ThreadState::shared_pointer(Value* address) {
  Value* base = shared_base();
  Value* low = builder_.CreateTrunc(builder_.CreatePtrToInt(base, builder_.getInt64Ty()), builder_.getInt32Ty());
  Value* offset = builder_.CreateSub(builder_.CreateZExtOrTrunc(address, builder_.getInt32Ty()), low);
  return builder_.CreateGEP(builder_.getInt8Ty(), base, builder_.CreateSExt(offset, builder_.getInt64Ty()));
}

Value* ThreadState::in_shared(Value* address) {
  if (address->getType()->isPointerTy()) address = builder_.CreatePtrToInt(address, builder_.getInt64Ty());
  Value* base = builder_.CreatePtrToInt(shared_base(), builder_.getInt64Ty());
  return builder_.CreateICmpULT(builder_.CreateSub(address, base), builder_.CreateZExt(shared_bytes(), builder_.getInt64Ty()));
}

Value* ThreadState::call(CpuService service, llvm::ArrayRef<Value*> arguments) {
  llvm::Type* none = builder_.getVoidTy();
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* result = none;
  bool returns = true;
  switch (service) {
    case CpuService::barrier_reduce:
    case CpuService::shuffle:
    case CpuService::vote:
    case CpuService::match_any:
    case CpuService::match_all:
    case CpuService::reduce:
    case CpuService::active_mask:
    case CpuService::image_property:
    case CpuService::in_stack:
    case CpuService::vprintf: result = word; break;
    case CpuService::malloc: result = builder_.getPtrTy(); break;
    case CpuService::wave_ballot:
    case CpuService::wave_read:
    case CpuService::wave_push:
    case CpuService::clock:
    case CpuService::global_timer: result = builder_.getInt64Ty(); break;
    case CpuService::assert_fail:
    case CpuService::trap:
    case CpuService::wild_call:
    case CpuService::exit: returns = false; break;
    default: break;
  }
  static_assert(offsetof(mneme_cpu_services, image_property) == static_cast<size_t>(CpuService::image_property) * sizeof(void*));
  Value* services = load(block(), offsetof(mneme_cpu_block, services), builder_.getPtrTy(), "services");
  Value* function = load(services, static_cast<uint64_t>(service) * sizeof(void*), builder_.getPtrTy(), "service");
  llvm::SmallVector<llvm::Type*, 8> types{builder_.getPtrTy()};
  llvm::SmallVector<Value*, 8> values{thread_};
  for (Value* argument : arguments) types.push_back(argument->getType()), values.push_back(argument);
  llvm::CallInst* call = builder_.CreateCall(llvm::FunctionType::get(result, types, false), function, values);
  call->setDoesNotThrow();
  if (!returns) call->setDoesNotReturn();
  return result == none ? nullptr : call;
}

Value* ThreadState::special_register(std::string_view name) {
  auto word = [&](uint32_t value) -> Value* { return builder_.getInt32(value); };
  if (size_t dot = name.find('.'); dot != std::string_view::npos && dot + 2 == name.size()) {
    char letter = name.back();
    std::string_view vector = name.substr(0, dot);
    constexpr std::string_view axes = "xyzw";
    size_t axis = axes.find(letter);
    if (axis == std::string_view::npos) return nullptr;
    // A launch without clusters is one of clusters of a single block.
    bool index = vector == "tid" || vector == "ctaid" || vector == "clusterid" || vector == "cluster_ctaid";
    bool extent = vector == "ntid" || vector == "nctaid" || vector == "nclusterid" || vector == "cluster_nctaid";
    if (!index && !extent) return nullptr;
    if (axis == 3 || vector.starts_with("cluster_")) return word(index ? 0 : 1);
    if (vector == "tid") return thread_index(static_cast<unsigned>(axis));
    if (vector == "ntid") return block_dim(static_cast<unsigned>(axis));
    return index ? block_index(static_cast<unsigned>(axis)) : grid_dim(static_cast<unsigned>(axis));
  }
  if (name == "laneid") return lane();
  if (name == "warpid") return warp();
  if (name == "warpsize" || name == "WARP_SZ") return word(32);
  if (name == "smid") return worker();
  if (name == "nwarpid") {
    Value* threads = builder_.CreateMul(builder_.CreateMul(block_dim(0), block_dim(1)), block_dim(2));
    return builder_.CreateLShr(builder_.CreateAdd(threads, word(31)), word(5));
  }
  if (name == "gridid") return builder_.getInt64(0);
  if (name == "dynamic_smem_size") return dynamic_shared_bytes();
  if (name == "total_smem_size" || name == "aggr_smem_size") return shared_bytes();
  // What the system reserves of shared memory lies before the block's own, and has two halves.
  if (name.starts_with("reserved_smem_offset_")) {
    std::string_view part = name.substr(21);
    if (part == "cap") return word(MNEME_CPU_RESERVED_SHARED_BYTES);
    if (part != "begin" && part != "0" && part != "1" && part != "end") return nullptr;
    uint32_t before = part == "end" ? 0 : part == "1" ? MNEME_CPU_RESERVED_SHARED_BYTES / 2 : MNEME_CPU_RESERVED_SHARED_BYTES;
    return builder_.CreateSub(builder_.CreatePtrToInt(shared_base(), builder_.getInt32Ty()), word(before));
  }
  if (name == "envreg1" || name == "envreg2") {
    Value* workspace = builder_.CreatePtrToInt(grid_workspace(), builder_.getInt64Ty());
    return builder_.CreateTrunc(name == "envreg1" ? builder_.CreateLShr(workspace, 32) : workspace, builder_.getInt32Ty());
  }
  if (name == "cluster_ctarank" || name == "is_explicit_cluster") return word(0);
  if (name == "cluster_nctarank") return word(1);
  if (name == "clock64") return call(CpuService::clock, {});
  if (name == "clock") return builder_.CreateTrunc(call(CpuService::clock, {}), builder_.getInt32Ty());
  if (name == "clock_hi")
    return builder_.CreateTrunc(builder_.CreateLShr(call(CpuService::clock, {}), 32), builder_.getInt32Ty());
  if (name == "globaltimer") return call(CpuService::global_timer, {});
  if (name == "globaltimer_lo") return builder_.CreateTrunc(call(CpuService::global_timer, {}), builder_.getInt32Ty());
  if (name == "globaltimer_hi")
    return builder_.CreateTrunc(builder_.CreateLShr(call(CpuService::global_timer, {}), 32), builder_.getInt32Ty());
  if (name.starts_with("lanemask_")) {
    Value* bit = builder_.CreateShl(word(1), lane());
    Value* below = builder_.CreateSub(bit, word(1));
    std::string_view relation = name.substr(9);
    if (relation == "eq") return bit;
    if (relation == "lt") return below;
    if (relation == "le") return builder_.CreateOr(below, bit);
    if (relation == "ge") return builder_.CreateNot(below);
    if (relation == "gt") return builder_.CreateNot(builder_.CreateOr(below, bit));
  }
  return nullptr;
}

}  // namespace mneme::ptx
