#include "mneme/compile/pointer_use.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <set>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/ir/access.h"
#include "mneme/ir/gpu_memory.h"
#include "mneme/ir/launch_reads.h"

namespace mneme {
namespace {

using llvm::dyn_cast;
using llvm::isa;

struct Access {
  bool read = false, write = false;
};

class PointerUseFinder {
 public:
  explicit PointerUseFinder(const llvm::Function& kernel) : kernel_(kernel), layout_(kernel.getParent()->getDataLayout()) {}

  PointerUse find() {
    for (const llvm::Instruction& instruction : llvm::instructions(kernel_)) look_at(instruction);
    for (const PointerRoot& root : use_.roots)
      if (root.kind == PointerRoot::Kind::member && written_structures_.contains(root.parameter))
        other("a pointer in a structure that the kernel changes");
    return std::move(use_);
  }

 private:
  void look_at(const llvm::Instruction& instruction) {
    if (auto* load = dyn_cast<llvm::LoadInst>(&instruction)) {
      use_.synchronises |= !load->isSimple();
      note(*load->getPointerOperand(), {.read = true});
    } else if (auto* store = dyn_cast<llvm::StoreInst>(&instruction)) {
      use_.synchronises |= !store->isSimple();
      note(*store->getPointerOperand(), {.write = true});
    } else if (auto* exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      use_.synchronises = true;
      note(*exchange->getPointerOperand(), {.read = true, .write = true});
    } else if (auto* update = dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      use_.synchronises = true;
      note(*update->getPointerOperand(), {.read = true, .write = true});
    } else if (isa<llvm::FenceInst>(instruction)) {
      use_.synchronises = true;
    } else if (auto* call = dyn_cast<llvm::CallBase>(&instruction)) {
      look_at_call(*call);
    } else if (instruction.mayReadOrWriteMemory()) {
      other(std::string("the instruction ") + instruction.getOpcodeName());
    }
  }

  void look_at_call(const llvm::CallBase& call) {
    if (call.isInlineAsm()) return look_at_assembly(call);
    const llvm::Function* callee = call.getCalledFunction();
    if (!callee) return other("a call through a pointer");
    const std::string name = callee->getName().str();
    // It ends the launch, and what it reads are constants.
    if (name == "__assertfail") return;
    if (callee->isIntrinsic()) return look_at_intrinsic(call, name);
    if (!call.doesNotAccessMemory()) other(fmt::format("the function '{}', which is not inlined", name));
  }

  // Clang takes assembly without a memory clobber for a computation, also when it reads what an operand points to.
  void look_at_assembly(const llvm::CallBase& call) {
    for (const llvm::Use& operand : call.args())
      if (operand->getType()->isPtrOrPtrVectorTy() || operand->getType()->isIntegerTy(64))
        return other("inline PTX that is given an address");
    use_.synchronises |= call.mayHaveSideEffects() || !call.doesNotAccessMemory();
  }

  void look_at_intrinsic(const llvm::CallBase& call, const std::string& name) {
    if (call.isLifetimeStartOrEnd() || isa<llvm::AssumeInst>(call) || isa<llvm::DbgInfoIntrinsic>(call)) return;
    // What these access is said by a descriptor, not by the pointer to it.
    if (name.find("tensor") != std::string::npos) return other("the intrinsic " + name);
    use_.synchronises |= call.isConvergent();
    if (auto* memory = dyn_cast<llvm::MemIntrinsic>(&call)) use_.synchronises |= memory->isVolatile();
    const llvm::MemoryEffects effects = call.getMemoryEffects();
    if (effects.onlyAccessesInaccessibleMem()) return;
    if (!effects.onlyAccessesInaccessibleOrArgMem()) use_.synchronises = true;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      if (!call.getArgOperand(i)->getType()->isPointerTy()) continue;
      if (!effects.onlyAccessesInaccessibleOrArgMem()) return other("the intrinsic " + name);
      note(*call.getArgOperand(i), {.read = !call.onlyWritesMemory(i), .write = !call.onlyReadsMemory(i)});
    }
  }

  void note(const llvm::Value& pointer, Access access) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(&pointer, objects, nullptr, /*MaxLookup=*/0);
    for (const llvm::Value* object : objects) note_object(*object, access);
  }

  // A structure that is an argument: NVIDIA's code may change its copy, AMD's has none.
  static bool is_structure(const llvm::Argument& argument) { return argument.hasByValAttr() || argument.hasByRefAttr(); }

  void note_object(const llvm::Value& object, Access access) {
    if (isa<llvm::AllocaInst, llvm::ConstantPointerNull, llvm::UndefValue>(object) || ir::is_launch_structure(object)) return;
    if (auto* argument = dyn_cast<llvm::Argument>(&object)) {
      const unsigned index = argument->getArgNo();
      if (!is_structure(*argument)) return add({.kind = PointerRoot::Kind::parameter, .parameter = index}, access);
      if (access.write) written_structures_.insert(index);
    } else if (auto* variable = dyn_cast<llvm::GlobalVariable>(&object)) {
      if (variable->getAddressSpace() != ir::kSharedSpace && is_state(*variable))
        add({.kind = PointerRoot::Kind::variable, .variable = variable->getName().str()}, access);
    } else if (auto* load = dyn_cast<llvm::LoadInst>(&object)) {
      note_loaded(*load, access);
    } else if (isa<llvm::CallBase>(object)) {
      other("a pointer that a function returns");
    } else {
      other("a pointer that is made from an integer");
    }
  }

  void note_loaded(const llvm::LoadInst& load, Access access) {
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(load.getPointerOperandType()), 0);
    const llvm::Value* base = load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout_, offset, true);
    auto* structure = dyn_cast<llvm::Argument>(base->stripPointerCasts());
    if (!structure || !is_structure(*structure) || offset.isNegative()) return other("a pointer that is loaded from memory");
    add({.kind = PointerRoot::Kind::member, .parameter = structure->getArgNo(), .offset = offset.getZExtValue()}, access);
  }

  void add(PointerRoot root, Access access) {
    for (PointerRoot& known : use_.roots) {
      if (known.kind != root.kind || known.parameter != root.parameter || known.offset != root.offset ||
          known.variable != root.variable)
        continue;
      known.read |= access.read;
      known.written |= access.write;
      return;
    }
    root.read = access.read;
    root.written = access.write;
    use_.roots.push_back(std::move(root));
  }

  void other(std::string what) {
    if (use_.other.empty()) use_.other = std::move(what);
  }

  const llvm::Function& kernel_;
  const llvm::DataLayout& layout_;
  PointerUse use_;
  std::set<unsigned> written_structures_;
};

void inline_everything(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || is_kernel(function)) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

Status find_in(llvm::Module& module, const std::string& kernel, const std::string& architecture, PointerUse& use) {
  MNEME_TRY(prepare_module(module, {kernel}, architecture, Linkage::internal));
  inline_everything(module);
  MNEME_ASSIGN(auto machine, create_target_machine(module, {.cpu = architecture, .features = ""}));
  MNEME_TRY(run_pipeline(module, *machine, "default<O2>"));
  use = PointerUseFinder(*module.getFunction(kernel)).find();
  return {};
}

}  // namespace

Result<PointerUse> find_pointer_use(const ir::Module& module, const std::string& kernel, const std::string& architecture) {
  PointerUse use;
  MNEME_TRY(run_llvm_on_copy(module, [&](llvm::Module& copy) { return find_in(copy, kernel, architecture, use); }));
  return use;
}

}  // namespace mneme
