#include "mneme/ir/launch_reads.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>

namespace mneme::ir {
namespace {

using llvm::dyn_cast;
using llvm::isa;
using Visit = llvm::function_ref<void(const LaunchReadKind&, llvm::Instruction&)>;

struct RegisterRead {
  llvm::Intrinsic::ID intrinsic;
  LaunchReadKind kind;
  bool of_amd = false;
};
constexpr RegisterRead kRegisterReads[] = {
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {LaunchRead::thread_index, 0}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, {LaunchRead::thread_index, 1}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z, {LaunchRead::thread_index, 2}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {LaunchRead::block_index, 0}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, {LaunchRead::block_index, 1}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, {LaunchRead::block_index, 2}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {LaunchRead::block_extent, 0}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y, {LaunchRead::block_extent, 1}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z, {LaunchRead::block_extent, 2}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, {LaunchRead::grid_extent, 0}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, {LaunchRead::grid_extent, 1}},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, {LaunchRead::grid_extent, 2}},
    {llvm::Intrinsic::amdgcn_workitem_id_x, {LaunchRead::thread_index, 0}, true},
    {llvm::Intrinsic::amdgcn_workitem_id_y, {LaunchRead::thread_index, 1}, true},
    {llvm::Intrinsic::amdgcn_workitem_id_z, {LaunchRead::thread_index, 2}, true},
    {llvm::Intrinsic::amdgcn_workgroup_id_x, {LaunchRead::block_index, 0}, true},
    {llvm::Intrinsic::amdgcn_workgroup_id_y, {LaunchRead::block_index, 1}, true},
    {llvm::Intrinsic::amdgcn_workgroup_id_z, {LaunchRead::block_index, 2}, true},
};

// A member of a structure in memory.
struct MemberRead {
  uint64_t offset, bytes;
  LaunchReadKind kind;
};
constexpr MemberRead kDispatchPacket[] = {
    {4, 2, {LaunchRead::block_extent, 0}},   {6, 2, {LaunchRead::block_extent, 1}},   {8, 2, {LaunchRead::block_extent, 2}},
    {12, 4, {LaunchRead::total_threads, 0}}, {16, 4, {LaunchRead::total_threads, 1}}, {20, 4, {LaunchRead::total_threads, 2}},
};
constexpr MemberRead kImplicitArguments[] = {
    {0, 4, {LaunchRead::grid_extent, 0}},   {4, 4, {LaunchRead::grid_extent, 1}},   {8, 4, {LaunchRead::grid_extent, 2}},
    {12, 2, {LaunchRead::block_extent, 0}}, {14, 2, {LaunchRead::block_extent, 1}}, {16, 2, {LaunchRead::block_extent, 2}},
    {18, 2, {LaunchRead::remainder, 0}},    {20, 2, {LaunchRead::remainder, 1}},    {22, 2, {LaunchRead::remainder, 2}},
};

// What one load reads of the structure, whose byte at each of `offsets` it may begin with. The device library chooses between
// the extent of a block and the remainder by which block it is; all blocks are whole.
std::optional<LaunchReadKind> member_at(llvm::ArrayRef<MemberRead> members, llvm::ArrayRef<uint64_t> offsets, uint64_t bytes) {
  std::optional<LaunchReadKind> found;
  for (const uint64_t offset : offsets) {
    const auto* member = llvm::find_if(members, [&](const MemberRead& m) { return m.offset == offset && m.bytes == bytes; });
    if (member == members.end()) return std::nullopt;
    const auto [read, axis] = member->kind;
    if (!found || (found->axis == axis && found->read == LaunchRead::remainder)) {
      found = member->kind;
    } else if (found->axis != axis || (read != found->read && read != LaunchRead::remainder)) {
      return std::nullopt;
    }
  }
  return found;
}

using Offsets = llvm::SmallVector<uint64_t, 2>;

// Where the pointer that `step` makes may point to, if its operand may point to `offsets`; nothing: that is not known.
std::optional<Offsets> offsets_behind(const llvm::GEPOperator& step, const Offsets& offsets, const llvm::DataLayout& layout) {
  const unsigned bits = layout.getIndexTypeSizeInBits(step.getType());
  llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
  llvm::APInt constant(bits, 0);
  if (!step.collectOffset(layout, bits, variable, constant) || variable.size() > 1) return std::nullopt;
  Offsets result;
  for (const uint64_t offset : offsets) {
    const uint64_t begin = offset + constant.getZExtValue();
    if (variable.empty()) {
      result.push_back(begin);
      continue;
    }
    const auto& [value, scale] = *variable.begin();
    const auto* choice = dyn_cast<llvm::SelectInst>(value);
    if (!choice) return std::nullopt;
    for (const llvm::Value* one : {choice->getTrueValue(), choice->getFalseValue()}) {
      const auto* index = dyn_cast<llvm::ConstantInt>(one);
      if (!index) return std::nullopt;
      result.push_back(begin + (index->getValue().sextOrTrunc(bits) * scale).getZExtValue());
    }
  }
  return result;
}

void find_loads(llvm::Value& pointer, const Offsets& offsets, llvm::ArrayRef<MemberRead> members, const llvm::DataLayout& layout,
                llvm::SmallVectorImpl<std::pair<LaunchReadKind, llvm::Instruction*>>& found) {
  for (llvm::User* user : pointer.users()) {
    if (auto* load = dyn_cast<llvm::LoadInst>(user)) {
      if (!load->getType()->isIntegerTy() || load->isVolatile()) continue;
      if (auto kind = member_at(members, offsets, layout.getTypeStoreSize(load->getType()))) found.push_back({*kind, load});
    } else if (isa<llvm::AddrSpaceCastInst, llvm::BitCastInst>(user)) {
      find_loads(*user, offsets, members, layout, found);
    } else if (auto* step = dyn_cast<llvm::GEPOperator>(user); step && step->getPointerOperand() == &pointer) {
      if (auto behind = offsets_behind(*step, offsets, layout)) find_loads(*user, *behind, members, layout, found);
    }
  }
}

void for_each_member_read(llvm::Function& structure, llvm::ArrayRef<MemberRead> members, Visit visit) {
  llvm::SmallVector<std::pair<LaunchReadKind, llvm::Instruction*>, 16> found;
  for (llvm::User* user : structure.users())
    if (isa<llvm::CallBase>(user)) find_loads(*user, {0}, members, structure.getParent()->getDataLayout(), found);
  for (auto& [kind, load] : found) visit(kind, *load);
}

// The names of launch reads for both vendors.
constexpr char kNamedPrefix[] = "mneme.launch.";
constexpr const char* kAxes[] = {"x", "y", "z"};
struct NamedRead {
  LaunchRead read;
  const char* name;
};
constexpr NamedRead kNamedReads[] = {{LaunchRead::thread_index, "thread_index"},
                                     {LaunchRead::block_index, "block_index"},
                                     {LaunchRead::block_extent, "block_extent"},
                                     {LaunchRead::grid_extent, "grid_extent"}};

llvm::Value* named_value(llvm::IRBuilder<>& builder, const LaunchReadKind& kind) {
  const unsigned axis = kind.axis;
  if (kind.read == LaunchRead::remainder) return builder.getInt32(0);
  if (kind.read == LaunchRead::total_threads)
    return builder.CreateMul(named_value(builder, {LaunchRead::grid_extent, axis}),
                             named_value(builder, {LaunchRead::block_extent, axis}));
  const auto* named = llvm::find_if(kNamedReads, [&](const NamedRead& one) { return one.read == kind.read; });
  const std::string name = std::string(kNamedPrefix) + named->name + "." + kAxes[axis];
  llvm::FunctionCallee callee = builder.GetInsertBlock()->getModule()->getOrInsertFunction(name, builder.getInt32Ty());
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return builder.CreateCall(callee);
}

// A read of 16 bits is always widened. Its users then have the whole number, which fits.
void replace(llvm::Instruction& read, llvm::Value& value) {
  for (llvm::User* user : llvm::make_early_inc_range(read.users())) {
    auto* wider = dyn_cast<llvm::ZExtInst>(user);
    if (!wider) continue;
    llvm::IRBuilder<> builder(wider);
    wider->replaceAllUsesWith(builder.CreateZExtOrTrunc(&value, wider->getType()));
    wider->eraseFromParent();
  }
  llvm::IRBuilder<> builder(&read);
  if (!read.use_empty()) read.replaceAllUsesWith(builder.CreateZExtOrTrunc(&value, read.getType()));
}

uint32_t along(const Dim3& extents, unsigned axis) { return axis == 0 ? extents.x : axis == 1 ? extents.y : extents.z; }

}  // namespace

void for_each_launch_read(llvm::Module& module, Visit visit) {
  const bool amd = module.getTargetTriple().isAMDGCN();
  for (llvm::Function& function : module) {
    const llvm::Intrinsic::ID intrinsic = function.getIntrinsicID();
    if (intrinsic == llvm::Intrinsic::not_intrinsic) continue;
    if (intrinsic == llvm::Intrinsic::amdgcn_dispatch_ptr) for_each_member_read(function, kDispatchPacket, visit);
    if (intrinsic == llvm::Intrinsic::amdgcn_implicitarg_ptr) for_each_member_read(function, kImplicitArguments, visit);
    for (const RegisterRead& read : kRegisterReads) {
      if (intrinsic != read.intrinsic || read.of_amd != amd) continue;
      for (llvm::User* user : llvm::make_early_inc_range(function.users()))
        if (auto* call = dyn_cast<llvm::CallBase>(user)) visit(read.kind, *call);
    }
  }
}

uint64_t extent_of(const LaunchReadKind& kind, const Dim3& grid, const Dim3& block) {
  const uint64_t threads = along(block, kind.axis), blocks = along(grid, kind.axis);
  switch (kind.read) {
    case LaunchRead::thread_index:
    case LaunchRead::block_extent: return threads;
    case LaunchRead::block_index:
    case LaunchRead::grid_extent: return blocks;
    case LaunchRead::total_threads: return blocks * threads;
    case LaunchRead::remainder: break;
  }
  return 0;
}

llvm::Value* create_launch_read(llvm::IRBuilderBase& builder, const LaunchReadKind& kind) {
  const bool amd = builder.GetInsertBlock()->getModule()->getTargetTriple().isAMDGCN();
  for (const RegisterRead& read : kRegisterReads)
    if (read.kind == kind && read.of_amd == amd) return builder.CreateIntrinsic(read.intrinsic, {});
  const auto* member = llvm::find_if(kImplicitArguments, [&](const MemberRead& one) { return one.kind == kind; });
  llvm::Value* structure = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr, {});
  llvm::Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), structure, member->offset);
  llvm::Value* value =
      builder.CreateAlignedLoad(builder.getIntNTy(static_cast<unsigned>(8 * member->bytes)), place, llvm::Align(2));
  return builder.CreateZExt(value, builder.getInt32Ty());
}

void name_launch_reads(llvm::Module& module) {
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for_each_launch_read(module, [&](const LaunchReadKind& kind, llvm::Instruction& read) {
    llvm::IRBuilder<> builder(&read);
    replace(read, *named_value(builder, kind));
    replaced.push_back(&read);
  });
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
}

std::optional<LaunchReadKind> named_launch_read(llvm::StringRef function) {
  if (!function.consume_front(kNamedPrefix)) return std::nullopt;
  for (const NamedRead& named : kNamedReads)
    for (unsigned axis = 0; axis < 3; ++axis)
      if (function == llvm::Twine(named.name).concat(".").concat(kAxes[axis]).str()) return LaunchReadKind{named.read, axis};
  return std::nullopt;
}

bool is_launch_structure(const llvm::Value& value) {
  const auto* call = dyn_cast<llvm::CallBase>(&value);
  const llvm::Intrinsic::ID intrinsic = call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
  return intrinsic == llvm::Intrinsic::amdgcn_implicitarg_ptr || intrinsic == llvm::Intrinsic::amdgcn_dispatch_ptr ||
         intrinsic == llvm::Intrinsic::amdgcn_kernarg_segment_ptr;
}

}  // namespace mneme::ir
