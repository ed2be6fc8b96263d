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

#include "mneme/ir/gpu_memory.h"
#include "mneme/ir/launch_reads.h"

namespace mneme {
namespace {

using llvm::dyn_cast;
using llvm::isa;

constexpr char kTrack[] = "__mneme_track", kComer[] = "__mneme_comer";
constexpr uint64_t kWidestVector = 16;  // bytes that one access of local memory reaches

// {0}: number of ranges; {1}: their table: base, end, and what leads from an address to its note's index in a plane; {2}: the
// bytes of a plane; {3}: the variable with the notes' address; {4}: code in front that defines what notes need; {5}: makes the
// note of the byte at %at: %index in the plane at %there; {6}: the function that says who is there. A range is found by
// bisection.
constexpr char kTrackingCode[] = R"(
@{3} = addrspace(1) externally_initialized global i64 0
@__mneme_tracked = internal addrspace(1) constant [{0} x [3 x i64]] [{1}]
declare i32 @{6}()

define internal void @__mneme_track(i64 %address, i64 %size, i64 %class) noinline nounwind {{
entry:
{4}
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
  %plane = mul i64 %class, {2}
  %notes = load i64, ptr addrspace(1) @{3}
  %there = add i64 %notes, %plane
  %wanted = add i64 %address, %size
  %over = icmp ugt i64 %wanted, %end
  %stop = select i1 %over, i64 %end, i64 %wanted
  br label %bytes
bytes:
  %at = phi i64 [ %address, %mark ], [ %next, %noted ]
  %more = icmp ult i64 %at, %stop
  br i1 %more, label %note, label %done
note:
  %index = add i64 %at, %shift
{5}
  br label %noted
noted:
  %next = add i64 %at, 1
  br label %bytes
done:
  ret void
}}
)";

constexpr char kNoteAccess[] = R"(
  %place = add i64 %index, %there
  %pointer = inttoptr i64 %place to ptr
  store i8 1, ptr %pointer)";

// The first that comes stays; another is noted beside it.
constexpr char kNoteComer[] = R"(
  %bytes_in = shl i64 %index, 3
  %place = add i64 %bytes_in, %there
  %pointer = inttoptr i64 %place to ptr
  %pair = cmpxchg ptr %pointer, i32 0, i32 %comer monotonic monotonic
  %old = extractvalue {{ i32, i1 }} %pair, 0
  %first = icmp eq i32 %old, 0
  %again = icmp eq i32 %old, %comer
  %known = or i1 %first, %again
  br i1 %known, label %noted, label %second
second:
  %second_place = add i64 %place, 4
  %second_pointer = inttoptr i64 %second_place to ptr
  store atomic i32 %comer, ptr %second_pointer monotonic, align 4)";

struct NoteCode {
  std::string before, note;
  uint64_t plane = 0;  // bytes
};
NoteCode note_code(const AccessTracking& tracking) {
  if (tracking.note == NoteOf::access) return {"", kNoteAccess, tracking.plane.count};
  return {fmt::format("  %comer = call i32 @{}()", kComer), fmt::format(kNoteComer),
          tracking.plane.count * kNoteWords * sizeof(uint32_t)};
}

// What is read of the launch in direction x, y or z, named "tx", "ny" and so on.
llvm::Value* read_launch(llvm::IRBuilder<>& builder, ir::LaunchRead what, unsigned axis) {
  const char name[] = {"tbng"[static_cast<unsigned>(what)], "xyz"[axis], '\0'};
  llvm::Value* value = ir::create_launch_read(builder, {what, axis});
  value->setName(name);
  return value;
}

// Of what has three places and three extents: the number of a place, x first.
llvm::Value* number_in(llvm::IRBuilder<>& builder, ir::LaunchRead index, ir::LaunchRead extent, const char* line) {
  llvm::Value* plane = builder.CreateMul(read_launch(builder, index, 2), read_launch(builder, extent, 1));
  llvm::Value* row = builder.CreateAdd(plane, read_launch(builder, index, 1), line);
  return builder.CreateAdd(builder.CreateMul(row, read_launch(builder, extent, 0)), read_launch(builder, index, 0));
}

// Defines the function that gives the number of the block, or thread, that calls it, counted from 1.
void define_comer(llvm::Function& function, NoteOf what) {
  using enum ir::LaunchRead;
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(function.getContext(), "entry", &function));
  llvm::Value* number = number_in(builder, block_index, grid_extent, "row");
  if (what == NoteOf::thread) {
    llvm::Value* inside = number_in(builder, thread_index, block_extent, "line");
    llvm::Value* size = builder.getInt32(1);
    for (const unsigned axis : {0u, 1u, 2u}) size = builder.CreateMul(size, read_launch(builder, block_extent, axis));
    number = builder.CreateAdd(builder.CreateMul(number, size), inside);
  }
  builder.CreateRet(builder.CreateAdd(number, builder.getInt32(1)));
}

Status add_tracking_code(llvm::Module& module, const AccessTracking& tracking) {
  std::string table;
  for (const auto& [base, size, offset] : tracking.ranges)
    table += fmt::format("{}[3 x i64] [i64 {}, i64 {}, i64 {}]", table.empty() ? "" : ", ", base.address,
                         base.address + size.count, offset.count - base.address);
  const NoteCode code_of_notes = note_code(tracking);
  const std::string text = fmt::format(kTrackingCode, tracking.ranges.size(), table, code_of_notes.plane, kAccessNotesVariable,
                                       code_of_notes.before, code_of_notes.note, kComer);
  llvm::SMDiagnostic words;
  std::unique_ptr<llvm::Module> code = llvm::parseAssemblyString(text, words, module.getContext());
  if (!code) return error(Code::internal, "the tracking code does not parse: {}", words.getMessage().str());
  code->setDataLayout(module.getDataLayout());
  code->setTargetTriple(module.getTargetTriple());
  // Internal functions are linked only where something refers to them.
  code->getFunction(kTrack)->setLinkage(llvm::GlobalValue::ExternalLinkage);
  if (llvm::Linker::linkModules(module, std::move(code))) return error(Code::internal, "the tracking code cannot be linked");
  module.getFunction(kTrack)->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (llvm::Function* comer = module.getFunction(kComer)) define_comer(*comer, tracking.note);
  return {};
}

// Address spaces whose pointers are the address of global memory, or may be.
bool is_global_space(unsigned space, bool constants_too) {
  return space == ir::kGenericSpace || space == ir::kGlobalSpace || (constants_too && space == ir::kConstantSpace);
}
// Those that hold a description of memory, beside an address: AMD's buffers.
bool is_buffer_space(unsigned space) { return space >= 7 && space <= 9; }

// Whether a pointer may point to global memory: not to a thread's or block's own, nor to NVIDIA's constants, nor to variables
// that lie elsewhere in each module.
bool may_be_global(const llvm::Value* pointer, bool constants_too) {
  if (!is_global_space(pointer->getType()->getPointerAddressSpace(), constants_too)) return false;
  const llvm::Value* object = llvm::getUnderlyingObject(pointer);
  if (isa<llvm::AllocaInst>(object) || ir::is_launch_structure(*object)) return false;
  if (const auto* argument = dyn_cast<llvm::Argument>(object); argument && (argument->hasByValAttr() || argument->hasByRefAttr()))
    return false;
  const bool variable = isa<llvm::GlobalVariable>(object);
  const unsigned space = object->getType()->isPointerTy() ? object->getType()->getPointerAddressSpace() : ir::kGenericSpace;
  return is_global_space(space, constants_too && !variable);
}

bool is_known_function(llvm::StringRef name) {
  return llvm::is_contained(
      {"vprintf", "malloc", "free", "__assertfail", "__assert_fail", "__nvvm_reflect", "__atomic_work_item_fence"}, name);
}

// ROCm's device libraries, which may be linked later: they access what they are given a pointer to, and the host's buffers.
bool is_library_function(llvm::StringRef name) { return name.starts_with("__ocml_") || name.starts_with("__ockl_"); }

bool gives_global_memory(const llvm::CallBase& call) {
  const bool constants_too = ir::constants_are_global(*call.getModule());
  return llvm::any_of(call.args(), [&](const llvm::Use& argument) {
    return argument->getType()->isPointerTy() && may_be_global(argument, constants_too);
  });
}

// What runs in other places of memory, or in none.
bool is_harmless(const llvm::IntrinsicInst& call) {
  if (call.isAssumeLikeIntrinsic() || !call.mayReadOrWriteMemory()) return true;
  const llvm::StringRef name = call.getCalledFunction()->getName();
  for (llvm::StringRef part :
       {".tex.", ".surf", ".sust.", ".suld.", ".tensor", ".tcgen05", ".bulk", ".buffer.", ".tbuffer.", "amdgcn.image."})
    if (name.contains(part)) return false;
  return !gives_global_memory(call);
}

// Whether assembly names an address: PTX in brackets, AMD's by the name of the instruction.
bool accesses_memory(llvm::StringRef assembly, bool amd) {
  if (!amd) return assembly.contains('[') || assembly.contains("tex.");
  return llvm::any_of(std::initializer_list<llvm::StringRef>{"global_", "flat_", "buffer_load", "buffer_store", "buffer_atomic",
                                                             "s_load", "s_store", "s_buffer_", "image_"},
                      [&](llvm::StringRef word) { return assembly.contains(word); });
}

class Instrumentation {
 public:
  Instrumentation(llvm::Module& module, NoteOf what)
      : module_(module),
        layout_(module.getDataLayout()),
        track_(module.getFunction(kTrack)),
        builder_(module.getContext()),
        what_(what) {}

  Status visit(llvm::Instruction& instruction) {
    builder_.SetInsertPoint(&instruction);
    const auto describes_buffer = [](const llvm::Use& operand) {
      return operand->getType()->isPointerTy() && is_buffer_space(operand->getType()->getPointerAddressSpace());
    };
    if (instruction.mayReadOrWriteMemory() && llvm::any_of(instruction.operands(), describes_buffer))
      return error(Code::unsupported, "accesses by a descriptor of a buffer are not followed");
    if (auto* local = dyn_cast<llvm::AllocaInst>(&instruction)) {
      align(*local);
    } else if (auto* load = dyn_cast<llvm::LoadInst>(&instruction)) {
      note(load->getPointerOperand(), size_of(load->getType()), is_ordered(*load) ? Access::ordered_read : Access::read);
    } else if (auto* store = dyn_cast<llvm::StoreInst>(&instruction)) {
      note(store->getPointerOperand(), size_of(store->getValueOperand()->getType()),
           is_ordered(*store) ? Access::ordered_write : Access::write);
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
  enum class Access { read, write, both, ordered_read, ordered_write };  // both: an atomic operation
  enum Plane : uint64_t { kStores = 0, kLoads = 1, kOrdered = 2 };

  static bool is_ordered(const llvm::Instruction& access) { return access.isAtomic() || access.isVolatile(); }

  // Without notes local arrays are in registers, and can be read as vectors for which they are not aligned.
  void align(llvm::AllocaInst& local) const {
    const auto size = local.getAllocationSize(layout_);
    if (!size || size->isScalable() || size->isZero()) return;
    const uint64_t fits = std::min(kWidestVector, std::bit_floor(size->getFixedValue()));
    local.setAlignment(std::max(local.getAlign(), llvm::Align(fits)));
  }

  llvm::Value* size_of(llvm::Type* type) { return builder_.getInt64(layout_.getTypeStoreSize(type).getFixedValue()); }

  void note(llvm::Value* pointer, llvm::Value* size, Access access) {
    if (!may_be_global(pointer, ir::constants_are_global(module_))) return;
    llvm::Value* address = builder_.CreatePtrToInt(pointer, builder_.getInt64Ty());
    size = builder_.CreateZExtOrTrunc(size, builder_.getInt64Ty());
    for (const Plane plane : planes_of(access)) builder_.CreateCall(track_, {address, size, builder_.getInt64(plane)});
  }

  std::vector<Plane> planes_of(Access access) const {
    const bool who = what_ != NoteOf::access;
    switch (access) {
      case Access::read: return {kLoads};
      case Access::write: return {kStores};
      case Access::both: return who ? std::vector{kOrdered} : std::vector{kLoads, kStores};
      case Access::ordered_read: return who ? std::vector<Plane>{} : std::vector{kLoads};
      case Access::ordered_write: return {who ? kOrdered : kStores};
    }
    return {};
  }

  Status check_call(llvm::CallBase& call) const {
    if (const auto* assembly = dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
      const llvm::StringRef text = assembly->getAsmString();
      if (!accesses_memory(text, module_.getTargetTriple().isAMDGCN())) return {};
      return error(Code::unsupported, "inline assembly accesses memory: '{}'", text.str());
    }
    if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call)) {
      if (is_harmless(*intrinsic)) return {};
      return error(Code::unsupported, "accesses of '{}' are not followed", intrinsic->getCalledFunction()->getName().str());
    }
    call.removeFnAttr(llvm::Attribute::Memory);  // what it calls now writes notes
    const llvm::Function* callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration() || is_known_function(callee->getName())) return {};
    if (is_library_function(callee->getName()) && !gives_global_memory(call)) return {};
    return error(Code::unsupported, "accesses of '{}' are not followed", callee->getName().str());
  }

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::Function* track_;
  llvm::IRBuilder<> builder_;
  const NoteOf what_;
};

// What the kernel need not be given, as code says that was optimised for AMD's GPUs: who comes reads it.
void ask_for_the_launch(llvm::Function& function) {
  std::vector<std::string> names;
  for (const llvm::Attribute& attribute : function.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute() && attribute.getKindAsString().starts_with("amdgpu-no-"))
      names.push_back(attribute.getKindAsString().str());
  for (const std::string& name : names) function.removeFnAttr(name);
}

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
    ask_for_the_launch(function);
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  }
  MNEME_TRY(add_tracking_code(module, tracking));
  Instrumentation instrumentation(module, tracking.note);
  for (llvm::Instruction* instruction : instructions) MNEME_TRY(instrumentation.visit(*instruction));
  return {};
}

}  // namespace mneme
