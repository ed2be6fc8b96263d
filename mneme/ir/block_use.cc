#include "mneme/ir/block_use.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>

#include "mneme/ir/access.h"
#include "mneme/ir/bring_together.h"

namespace mneme::ir {
namespace {

constexpr char kRegister[] = "llvm.nvvm.read.ptx.sreg.";

// A register that says where a thread is: "tid", "ctaid", "ntid" or "nctaid", and the direction. Empty: it is none of these.
struct PlaceRegister {
  llvm::StringRef what;
  llvm::StringRef direction;
  bool is(llvm::StringRef name, llvm::StringRef of) const { return what == name && direction == of; }
};

PlaceRegister place_of(const llvm::Value* value) {
  while (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) value = llvm::cast<llvm::CastInst>(value)->getOperand(0);
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  if (!call || !call->getCalledFunction()) return {};
  llvm::StringRef name = call->getCalledFunction()->getName();
  if (!name.consume_front(kRegister)) return {};
  const auto [what, direction] = name.split('.');
  return {what, direction};
}

const llvm::BinaryOperator* operation(const llvm::Value* value, unsigned opcode) {
  const auto* found = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return found && found->getOpcode() == opcode ? found : nullptr;
}

// The product of two registers of one direction, in either order.
bool is_product(const llvm::Value* value, llvm::StringRef one, llvm::StringRef other, llvm::StringRef direction) {
  while (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value)) value = llvm::cast<llvm::CastInst>(value)->getOperand(0);
  const auto* product = operation(value, llvm::Instruction::Mul);
  if (!product) return false;
  const PlaceRegister a = place_of(product->getOperand(0)), b = place_of(product->getOperand(1));
  return (a.is(one, direction) && b.is(other, direction)) || (a.is(other, direction) && b.is(one, direction));
}

bool all_uses(const llvm::Value& value, llvm::function_ref<bool(const llvm::User&)> fits) {
  return llvm::all_of(value.users(), [&](const llvm::User* user) {
    return llvm::isa<llvm::ZExtInst, llvm::SExtInst>(user) ? all_uses(*user, fits) : fits(*user);
  });
}

// Whether the value is only added so that the index in the whole grid comes out.
bool is_added_to_an_index(const llvm::Value& value, llvm::StringRef direction) {
  return all_uses(value, [&](const llvm::User& user) {
    const auto* sum = operation(&user, llvm::Instruction::Add);
    if (!sum) return false;
    const llvm::Value *a = sum->getOperand(0), *b = sum->getOperand(1);
    return (is_product(a, "ctaid", "ntid", direction) && place_of(b).is("tid", direction)) ||
           (is_product(b, "ctaid", "ntid", direction) && place_of(a).is("tid", direction));
  });
}

// Whether the register is only used for that index, or for the number of all threads.
bool is_used_for_an_index(const llvm::CallInst& call, const PlaceRegister& place) {
  if (place.what == "tid") return is_added_to_an_index(call, place.direction);
  return all_uses(call, [&](const llvm::User& user) {
    if (is_product(&user, "ctaid", "ntid", place.direction)) return is_added_to_an_index(user, place.direction);
    return is_product(&user, "ntid", "nctaid", place.direction);
  });
}

bool is_device_wide(llvm::SyncScope::ID scope, const llvm::LLVMContext& context) {
  llvm::SmallVector<llvm::StringRef> names;
  context.getSyncScopeNames(names);
  return scope == llvm::SyncScope::System || (scope < names.size() && names[scope] == "device");
}

bool call_ignores_blocks(const llvm::CallInst& call) {
  const llvm::Function* called = call.getCalledFunction();
  if (!called) return false;  // through a pointer, or assembly
  const llvm::StringRef name = called->getName();
  if (name.starts_with(kRegister)) {
    const PlaceRegister place = place_of(&call);
    if (place.what != "tid" && place.what != "ctaid" && place.what != "ntid" && place.what != "nctaid") return false;
    return is_used_for_an_index(call, place);
  }
  if (!called->isDeclaration()) return true;  // its body is looked at by itself
  if (name.starts_with("__nv_") || name == "__nvvm_reflect") return true;
  if (!called->isIntrinsic() || call.isConvergent()) return false;
  if (!name.starts_with("llvm.nvvm.")) return true;
  return call.doesNotAccessMemory() || name.starts_with("llvm.nvvm.ldg.") || name.starts_with("llvm.nvvm.ldu.");
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

bool is_shared_memory(const llvm::GlobalVariable& variable) { return variable.getAddressSpace() == 3 && !variable.use_empty(); }

}  // namespace

Result<bool> ignores_blocks(const Module& module, const std::string& kernel) {
  MNEME_ASSIGN(Module copy, module.clone());
  llvm::Module& llvm = llvm_module(copy);
  const llvm::Function* function = llvm.getFunction(kernel);
  if (!function || function->isDeclaration())
    return error(Code::not_found, "looking for what a kernel knows of blocks: the IR has no kernel '{}'", kernel);
  MNEME_TRY(bring_together(llvm, "looking for what a kernel knows of blocks"));
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
