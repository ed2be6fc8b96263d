#include "mneme/ir/block_use.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "mneme/ir/access.h"
#include "mneme/ir/bring_together.h"
#include "mneme/ir/gpu_memory.h"
#include "mneme/ir/launch_reads.h"

namespace mneme::ir {
namespace {

using enum LaunchRead;

constexpr char kWhat[] = "looking for what a kernel knows of blocks";

// What the value reads of the launch; nothing where it is no such read.
std::optional<LaunchReadKind> read_of(const llvm::Value* value) {
  while (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) value = llvm::cast<llvm::CastInst>(value)->getOperand(0);
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  if (!call || !call->getCalledFunction()) return std::nullopt;
  return named_launch_read(call->getCalledFunction()->getName());
}
bool reads(const llvm::Value* value, LaunchRead what, unsigned axis) { return read_of(value) == LaunchReadKind{what, axis}; }

const llvm::BinaryOperator* operation(const llvm::Value* value, unsigned opcode) {
  const auto* found = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return found && found->getOpcode() == opcode ? found : nullptr;
}

// The product of two reads of one direction, in either order.
bool is_product(const llvm::Value* value, LaunchRead one, LaunchRead other, unsigned axis) {
  while (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) value = llvm::cast<llvm::CastInst>(value)->getOperand(0);
  const auto* product = operation(value, llvm::Instruction::Mul);
  if (!product) return false;
  const llvm::Value *a = product->getOperand(0), *b = product->getOperand(1);
  return (reads(a, one, axis) && reads(b, other, axis)) || (reads(a, other, axis) && reads(b, one, axis));
}

bool all_uses(const llvm::Value& value, llvm::function_ref<bool(const llvm::User&)> fits) {
  return llvm::all_of(value.users(), [&](const llvm::User* user) {
    return llvm::isa<llvm::ZExtInst, llvm::SExtInst>(user) ? all_uses(*user, fits) : fits(*user);
  });
}

// Whether the value is only added so that the index in the whole grid comes out.
bool is_added_to_an_index(const llvm::Value& value, unsigned axis) {
  return all_uses(value, [&](const llvm::User& user) {
    const auto* sum = operation(&user, llvm::Instruction::Add);
    if (!sum) return false;
    const llvm::Value *a = sum->getOperand(0), *b = sum->getOperand(1);
    return (is_product(a, block_index, block_extent, axis) && reads(b, thread_index, axis)) ||
           (is_product(b, block_index, block_extent, axis) && reads(a, thread_index, axis));
  });
}

// Whether what is read is only used for that index, or for the number of all threads.
bool is_used_for_an_index(const llvm::CallInst& call, const LaunchReadKind& kind) {
  if (kind.read == thread_index) return is_added_to_an_index(call, kind.axis);
  return all_uses(call, [&](const llvm::User& user) {
    if (is_product(&user, block_index, block_extent, kind.axis)) return is_added_to_an_index(user, kind.axis);
    return is_product(&user, block_extent, grid_extent, kind.axis);
  });
}

// Intrinsics of NVIDIA's that know neither of lanes nor of blocks.
bool nvptx_ignores_blocks(llvm::StringRef name, const llvm::CallInst& call) {
  if (name.starts_with("llvm.nvvm.read.ptx.sreg.")) return false;
  return call.doesNotAccessMemory() || name.starts_with("llvm.nvvm.ldg.") || name.starts_with("llvm.nvvm.ldu.");
}

// Those of AMD's: arithmetic. Others tell the lane without being convergent, as mbcnt does.
bool amdgcn_ignores_blocks(llvm::StringRef name) {
  name = name.drop_front(llvm::StringRef("llvm.amdgcn.").size()).split(".f").first.split(".i").first;
  return llvm::is_contained(
      {"rcp",       "rcp.legacy", "rsq",   "rsq.clamp",  "sqrt",      "log",      "log.clamp", "exp2",       "sin",
       "cos",       "fract",      "ldexp", "frexp.mant", "frexp.exp", "class",    "fmed3",     "div.scale",  "div.fmas",
       "div.fixup", "trig.preop", "ubfe",  "sbfe",       "perm",      "alignbit", "alignbyte", "fma.legacy", "fmul.legacy",
       "lerp",      "cvt.pkrtz",  "sffbh", "mul.u24",    "mul.i24",   "mulhi.u24"},
      name);
}

bool call_ignores_blocks(const llvm::CallInst& call) {
  const llvm::Function* called = call.getCalledFunction();
  if (!called) return false;  // through a pointer, or assembly
  const llvm::StringRef name = called->getName();
  if (const auto kind = named_launch_read(name)) return is_used_for_an_index(call, *kind);
  if (!called->isDeclaration()) return true;  // its body is looked at by itself
  if (name.starts_with("__nv_") || name.starts_with("__ocml_") || name == "__nvvm_reflect") return true;
  if (!called->isIntrinsic() || call.isConvergent()) return false;
  if (name.starts_with("llvm.nvvm.")) return nvptx_ignores_blocks(name, call);
  return !name.starts_with("llvm.amdgcn.") || amdgcn_ignores_blocks(name);
}

bool instruction_ignores_blocks(const llvm::Instruction& instruction) {
  const llvm::LLVMContext& context = instruction.getContext();
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return call_ignores_blocks(*call);
  if (llvm::isa<llvm::CallBase, llvm::FenceInst>(&instruction)) return false;
  if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return is_device_wide(change->getSyncScopeID(), context);
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return is_device_wide(exchange->getSyncScopeID(), context);
  return true;
}

bool is_shared_memory(const llvm::GlobalVariable& variable) {
  return variable.getAddressSpace() == kSharedSpace && !variable.use_empty();
}

}  // namespace

Result<bool> ignores_blocks(const Module& module, const std::string& kernel) {
  MNEME_ASSIGN(Module copy, module.clone());
  llvm::Module& llvm = llvm_module(copy);
  const llvm::Function* function = llvm.getFunction(kernel);
  if (!function || function->isDeclaration())
    return error(Code::not_found, "looking for what a kernel knows of blocks: the IR has no kernel '{}'", kernel);
  MNEME_TRY(bring_together(llvm, kWhat));
  MNEME_TRY(name_launch(llvm, kWhat));
  if (llvm::any_of(llvm.globals(), is_shared_memory)) return false;
  llvm::SetVector<const llvm::Function*> reached;
  reached.insert(function);
  for (size_t i = 0; i < reached.size(); ++i)
    for (const llvm::Instruction& instruction : llvm::instructions(*reached[i])) {
      if (!instruction_ignores_blocks(instruction)) return false;
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) reached.insert(call->getCalledFunction());
    }
  return true;
}

}  // namespace mneme::ir
