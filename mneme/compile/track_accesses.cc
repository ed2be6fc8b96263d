#include "mneme/compile/track_accesses.h"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <bit>

namespace mneme {
namespace {

using llvm::dyn_cast;
using llvm::isa;

constexpr char kTrack[] = "__mneme_track";
constexpr uint64_t kWidestVector = 16;  // bytes that one access of local memory reaches

// {0}: number of ranges; {1}: their table: base, end, and what leads from an address to its note's place in a plane; {2}: the
// size of a plane; {3}: the variable with the notes' address. A range is found by bisection.
constexpr char kTrackingCode[] = R"(
@{3} = addrspace(1) externally_initialized global i64 0
@__mneme_tracked = internal addrspace(1) constant [{0} x [3 x i64]] [{1}]

define internal void @__mneme_track(i64 %address, i64 %size, i1 %is_read) noinline nounwind {{
entry:
  br label %search
search:
  %low = phi i64 [ 0, %entry ], [ %next_low, %bisect ]
  %high = phi i64 [ {0}, %entry ], [ %next_high, %bisect ]
  %open = icmp ult i64 %low, %high
  br i1 %open, label %bisect, label %found
bisect:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %behind = add i64 %middle, 1
  %middle_end_at = getelementptr [3 x i64], ptr addrspace(1) @__mneme_tracked, i64 %middle, i64 1
  %middle_end = load i64, ptr addrspace(1) %middle_end_at
  %right = icmp ule i64 %middle_end, %address
  %next_low = select i1 %right, i64 %behind, i64 %low
  %next_high = select i1 %right, i64 %high, i64 %middle
  br label %search
found:
  %none = icmp eq i64 %low, {0}
  br i1 %none, label %done, label %check
check:
  %base_at = getelementptr [3 x i64], ptr addrspace(1) @__mneme_tracked, i64 %low, i64 0
  %base = load i64, ptr addrspace(1) %base_at
  %before = icmp ult i64 %address, %base
  br i1 %before, label %done, label %mark
mark:
  %end_at = getelementptr [3 x i64], ptr addrspace(1) @__mneme_tracked, i64 %low, i64 1
  %end = load i64, ptr addrspace(1) %end_at
  %shift_at = getelementptr [3 x i64], ptr addrspace(1) @__mneme_tracked, i64 %low, i64 2
  %shift = load i64, ptr addrspace(1) %shift_at
  %plane = select i1 %is_read, i64 {2}, i64 0
  %notes = load i64, ptr addrspace(1) @{3}
  %there = add i64 %notes, %plane
  %offset = add i64 %shift, %there
  %wanted = add i64 %address, %size
  %over = icmp ugt i64 %wanted, %end
  %stop = select i1 %over, i64 %end, i64 %wanted
  br label %bytes
bytes:
  %at = phi i64 [ %address, %mark ], [ %next, %note ]
  %more = icmp ult i64 %at, %stop
  br i1 %more, label %note, label %done
note:
  %place = add i64 %at, %offset
  %pointer = inttoptr i64 %place to ptr
  store i8 1, ptr %pointer
  %next = add i64 %at, 1
  br label %bytes
done:
  ret void
}}
)";

Status add_tracking_code(llvm::Module& module, const AccessTracking& tracking) {
  std::string table;
  for (const auto& [base, size, offset] : tracking.ranges)
    table += fmt::format("{}[3 x i64] [i64 {}, i64 {}, i64 {}]", table.empty() ? "" : ", ", base.address,
                         base.address + size.count, offset.count - base.address);
  const std::string text = fmt::format(kTrackingCode, tracking.ranges.size(), table, tracking.plane.count, kAccessNotesVariable);
  llvm::SMDiagnostic words;
  std::unique_ptr<llvm::Module> code = llvm::parseAssemblyString(text, words, module.getContext());
  if (!code) return error(Code::internal, "the tracking code does not parse: {}", words.getMessage().str());
  code->setDataLayout(module.getDataLayout());
  code->setTargetTriple(module.getTargetTriple());
  // Internal functions are linked only where something refers to them.
  code->getFunction(kTrack)->setLinkage(llvm::GlobalValue::ExternalLinkage);
  if (llvm::Linker::linkModules(module, std::move(code))) return error(Code::internal, "the tracking code cannot be linked");
  module.getFunction(kTrack)->setLinkage(llvm::GlobalValue::InternalLinkage);
  return {};
}

// Whether a pointer may point to global memory: not to a thread's or block's own, nor to constants.
bool may_be_global(const llvm::Value* pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space != 0 && space != 1) return false;
  const llvm::Value* object = llvm::getUnderlyingObject(pointer);
  if (isa<llvm::AllocaInst>(object)) return false;
  if (const auto* argument = dyn_cast<llvm::Argument>(object); argument && argument->hasByValAttr()) return false;
  const unsigned object_space = object->getType()->isPointerTy() ? object->getType()->getPointerAddressSpace() : 0;
  return object_space == 0 || object_space == 1;
}

bool is_known_function(llvm::StringRef name) {
  return llvm::is_contained({"vprintf", "malloc", "free", "__assertfail", "__nvvm_reflect"}, name);
}

// What runs in other places of memory, or in none.
bool is_harmless(const llvm::IntrinsicInst& call) {
  if (call.isAssumeLikeIntrinsic() || !call.mayReadOrWriteMemory()) return true;
  const llvm::StringRef name = call.getCalledFunction()->getName();
  for (llvm::StringRef part : {".tex.", ".surf", ".sust.", ".suld.", ".tensor", ".tcgen05", ".bulk"})
    if (name.contains(part)) return false;
  return llvm::none_of(call.args(),
                       [](const llvm::Use& argument) { return argument->getType()->isPointerTy() && may_be_global(argument); });
}

class Instrumentation {
 public:
  explicit Instrumentation(llvm::Module& module)
      : layout_(module.getDataLayout()), track_(module.getFunction(kTrack)), builder_(module.getContext()) {}

  Status visit(llvm::Instruction& instruction) {
    builder_.SetInsertPoint(&instruction);
    if (auto* local = dyn_cast<llvm::AllocaInst>(&instruction)) {
      align(*local);
    } else if (auto* load = dyn_cast<llvm::LoadInst>(&instruction)) {
      note(load->getPointerOperand(), size_of(load->getType()), Access::read);
    } else if (auto* store = dyn_cast<llvm::StoreInst>(&instruction)) {
      note(store->getPointerOperand(), size_of(store->getValueOperand()->getType()), Access::write);
    } else if (auto* atomic = dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      note(atomic->getPointerOperand(), size_of(atomic->getType()), Access::both);
    } else if (auto* exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      note(exchange->getPointerOperand(), size_of(exchange->getNewValOperand()->getType()), Access::both);
    } else if (auto* transfer = dyn_cast<llvm::MemTransferInst>(&instruction)) {
      note(transfer->getSource(), transfer->getLength(), Access::read);
      note(transfer->getDest(), transfer->getLength(), Access::write);
    } else if (auto* set = dyn_cast<llvm::MemSetInst>(&instruction)) {
      note(set->getDest(), set->getLength(), Access::write);
    } else if (auto* call = dyn_cast<llvm::CallBase>(&instruction)) {
      return check_call(*call);
    }
    return {};
  }

 private:
  enum class Access { read, write, both };

  // Without notes local arrays are in registers, and can be read as vectors for which they are not aligned.
  void align(llvm::AllocaInst& local) const {
    const auto size = local.getAllocationSize(layout_);
    if (!size || size->isScalable() || size->isZero()) return;
    const uint64_t fits = std::min(kWidestVector, std::bit_floor(size->getFixedValue()));
    local.setAlignment(std::max(local.getAlign(), llvm::Align(fits)));
  }

  llvm::Value* size_of(llvm::Type* type) { return builder_.getInt64(layout_.getTypeStoreSize(type).getFixedValue()); }

  void note(llvm::Value* pointer, llvm::Value* size, Access access) {
    if (!may_be_global(pointer)) return;
    llvm::Value* address = builder_.CreatePtrToInt(pointer, builder_.getInt64Ty());
    size = builder_.CreateZExtOrTrunc(size, builder_.getInt64Ty());
    if (access != Access::write) builder_.CreateCall(track_, {address, size, builder_.getTrue()});
    if (access != Access::read) builder_.CreateCall(track_, {address, size, builder_.getFalse()});
  }

  static Status check_call(llvm::CallBase& call) {
    if (const auto* assembly = dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
      const llvm::StringRef text = assembly->getAsmString();
      if (!text.contains('[') && !text.contains("tex.")) return {};  // PTX has an address in brackets
      return error(Code::unsupported, "inline assembly accesses memory: '{}'", text.str());
    }
    if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call)) {
      if (is_harmless(*intrinsic)) return {};
      return error(Code::unsupported, "accesses of '{}' are not followed", intrinsic->getCalledFunction()->getName().str());
    }
    call.removeFnAttr(llvm::Attribute::Memory);  // what it calls now writes notes
    const llvm::Function* callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration() || is_known_function(callee->getName())) return {};
    return error(Code::unsupported, "accesses of '{}' are not followed", callee->getName().str());
  }

  const llvm::DataLayout& layout_;
  llvm::Function* track_;
  llvm::IRBuilder<> builder_;
};

}  // namespace

Status track_accesses(llvm::Module& module, AccessTracking tracking) {
  std::vector<TrackedRange>& ranges = tracking.ranges;
  if (ranges.empty()) return {};
  std::sort(ranges.begin(), ranges.end(), [](const TrackedRange& a, const TrackedRange& b) { return a.base < b.base; });
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (llvm::Attribute::AttrKind kind : {llvm::Attribute::Memory, llvm::Attribute::NoSync, llvm::Attribute::Speculatable})
      function.removeFnAttr(kind);
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  }
  MNEME_TRY(add_tracking_code(module, tracking));
  Instrumentation instrumentation(module);
  for (llvm::Instruction* instruction : instructions) MNEME_TRY(instrumentation.visit(*instruction));
  return {};
}

}  // namespace mneme
