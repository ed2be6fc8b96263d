#include "mneme/cpu/lower/kernel_entry.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Support/MathExtras.h>

#include "mneme/cpu/run/image.h"

namespace mneme::cpu {
namespace {

llvm::StructType* thread_type(llvm::LLVMContext& context) {
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  return llvm::StructType::get(context, {pointer, llvm::ArrayType::get(word, 3), word, word, word, pointer});
}

// The function gets a subprogram of its own where the body has one, so that inlined lines keep their place.
llvm::DebugLoc give_lines(llvm::Function& function, const llvm::Function& body) {
  llvm::DISubprogram* lines = body.getSubprogram();
  if (!lines || !lines->getUnit()) return {};
  llvm::DIBuilder builder(*function.getParent(), false, lines->getUnit());
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  auto* own = builder.createFunction(lines->getFile(), function.getName(), function.getName(), lines->getFile(), lines->getLine(),
                                     type, lines->getLine(), llvm::DINode::FlagArtificial,
                                     llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(own);
  builder.finalizeSubprogram(own);
  return llvm::DILocation::get(function.getContext(), lines->getLine(), 0, own);
}

// Whether code reads the bytes at `pointer` and does nothing else with it.
bool only_reads(const llvm::Value& pointer, unsigned depth = 0) {
  if (depth > 16) return false;
  for (const llvm::Use& use : pointer.uses()) {
    const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    if (!user) return false;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user); load && !load->isVolatile()) continue;
    if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user); copy && &use == &copy->getRawSourceUse()) continue;
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user); intrinsic && intrinsic->isLifetimeStartOrEnd())
      continue;
    const bool derives = llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst, llvm::SelectInst>(user);
    if (!derives || !only_reads(*user, depth + 1)) return false;
  }
  return true;
}

// What no thread writes to: the parameter itself is passed on.
bool is_grid_constant(const llvm::Argument& argument) {
  return argument.hasByRefAttr() || argument.getParent()->getAttributes().hasParamAttr(argument.getArgNo(), "nvvm.grid_constant");
}

// What all threads of a launch get alike: values, and structs that the body only reads. Null for a struct that it may write to,
// of which each thread gets its own copy, as on the device. Nothing writes to the packed arguments while a kernel runs.
llvm::Value* common_argument(llvm::IRBuilder<>& builder, llvm::Value* packed, const KernelParameter& parameter,
                             const llvm::Argument& argument) {
  llvm::Type* type = argument.getType();
  llvm::Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), packed, parameter.offset);
  if (parameter.by_value)
    return only_reads(argument) || is_grid_constant(argument) ? builder.CreateAddrSpaceCast(at, type) : nullptr;
  llvm::LoadInst* value = builder.CreateAlignedLoad(type, at, llvm::Align(1), argument.getName());
  value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return value;
}

llvm::Value* own_copy(llvm::IRBuilder<>& builder, llvm::Value* packed, const KernelParameter& parameter,
                      const llvm::Argument& argument) {
  llvm::Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), packed, parameter.offset);
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  llvm::AllocaInst* copy = entry.CreateAlloca(parameter.by_value, 0u);
  copy->setAlignment(std::max(llvm::Align(16), argument.getParamAlign().valueOrOne()));
  builder.CreateMemCpy(copy, copy->getAlign(), at, llvm::Align(1), parameter.size);
  return builder.CreateAddrSpaceCast(copy, argument.getType());
}

llvm::Function* make_function(const KernelEntry& entry, const char* prefix) {
  llvm::LLVMContext& context = entry.body->getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, prefix + entry.name, entry.body->getParent());
  llvm::BasicBlock::Create(context, "entry", function);
  return function;
}

std::vector<llvm::Value*> common_arguments(llvm::IRBuilder<>& builder, const KernelEntry& entry, llvm::Value* packed) {
  std::vector<llvm::Value*> arguments;
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    arguments.push_back(common_argument(builder, packed, entry.parameters[i], *entry.body->getArg(static_cast<unsigned>(i))));
  return arguments;
}

void call_body(llvm::IRBuilder<>& builder, const KernelEntry& entry, llvm::Value* packed, std::vector<llvm::Value*> arguments,
               llvm::Value* thread) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i])
      arguments[i] = own_copy(builder, packed, entry.parameters[i], *entry.body->getArg(static_cast<unsigned>(i)));
  arguments.push_back(thread);
  llvm::CallInst* call = builder.CreateCall(entry.body, arguments);
  call->setCallingConv(entry.body->getCallingConv());
}

// A word of the block, from `least` on. The same for all threads, and known to be small, so that sums with it need no care for
// overflow.
llvm::Value* block_word(llvm::IRBuilder<>& builder, llvm::Value* block, uint64_t offset, uint32_t least) {
  constexpr uint32_t kMostThreads = 1024;
  llvm::Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), block, offset);
  llvm::LoadInst* word = builder.CreateAlignedLoad(builder.getInt32Ty(), at, llvm::Align(4), "extent");
  llvm::MDBuilder metadata(builder.getContext());
  word->setMetadata(llvm::LLVMContext::MD_range,
                    metadata.createRange(llvm::APInt(32, least), llvm::APInt(32, kMostThreads + least)));
  word->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return word;
}

struct ThreadLoop {
  llvm::BasicBlock* header;
  llvm::PHINode* index;
  llvm::Value* end;
};

ThreadLoop open_loop(llvm::IRBuilder<>& builder, llvm::Value* block, unsigned axis, const char* name) {
  llvm::Value* first = block_word(builder, block, offsetof(mneme_cpu_block, first) + 4 * axis, 0);
  llvm::Value* end = block_word(builder, block, offsetof(mneme_cpu_block, end) + 4 * axis, 1);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(builder.getContext(), name, before->getParent());
  builder.CreateBr(header);
  builder.SetInsertPoint(header);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt32Ty(), 2, name);
  index->addIncoming(first, before);
  return {header, index, end};
}

void close_loop(llvm::IRBuilder<>& builder, const ThreadLoop& loop) {
  llvm::Value* next = builder.CreateAdd(loop.index, builder.getInt32(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  loop.index->addIncoming(next, builder.GetInsertBlock());
  auto* after = llvm::BasicBlock::Create(builder.getContext(), "after", builder.GetInsertBlock()->getParent());
  builder.CreateCondBr(builder.CreateICmpULT(next, loop.end), loop.header, after);
  builder.SetInsertPoint(after);
}

void make_run_block(KernelEntry& entry) {
  entry.entry = make_function(entry, "__mneme_run_block_");
  llvm::IRBuilder<> builder(&entry.entry->getEntryBlock());
  builder.SetCurrentDebugLocation(give_lines(*entry.entry, *entry.body));
  llvm::Value *packed = entry.entry->getArg(0), *block = entry.entry->getArg(1);
  for (auto attribute : {llvm::Attribute::ReadOnly, llvm::Attribute::NoAlias}) entry.entry->addParamAttr(0, attribute);
  const std::vector<llvm::Value*> arguments = common_arguments(builder, entry, packed);
  llvm::StructType* type = thread_type(builder.getContext());
  llvm::AllocaInst* thread = builder.CreateAlloca(type, 0u, nullptr, "thread");
  builder.CreateStore(llvm::Constant::getNullValue(type), thread);
  builder.CreateStore(block, thread);
  auto field = [&](uint64_t offset, llvm::Value* value) {
    builder.CreateStore(value, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, offset));
  };
  llvm::Value* extents[2];
  for (unsigned axis = 0; axis < 2; ++axis)
    extents[axis] = block_word(builder, block, offsetof(mneme_cpu_block, block) + 4 * axis, 1);
  ThreadLoop z = open_loop(builder, block, 2, "z"), y = open_loop(builder, block, 1, "y"), x = open_loop(builder, block, 0, "x");
  llvm::Value* row = builder.CreateAdd(builder.CreateMul(z.index, extents[1]), y.index);
  llvm::Value* linear = builder.CreateAdd(builder.CreateMul(row, extents[0]), x.index);
  field(offsetof(mneme_cpu_thread, index), x.index);
  field(offsetof(mneme_cpu_thread, index) + 4, y.index);
  field(offsetof(mneme_cpu_thread, index) + 8, z.index);
  field(offsetof(mneme_cpu_thread, lane), builder.CreateAnd(linear, entry.warp_size - 1));
  field(offsetof(mneme_cpu_thread, warp), builder.CreateLShr(linear, llvm::Log2_32(entry.warp_size)));
  call_body(builder, entry, packed, arguments, thread);
  for (const ThreadLoop& loop : {x, y, z}) close_loop(builder, loop);
  builder.CreateRetVoid();
}

void make_run_thread(KernelEntry& entry) {
  entry.entry = make_function(entry, "__mneme_run_thread_");
  llvm::IRBuilder<> builder(&entry.entry->getEntryBlock());
  builder.SetCurrentDebugLocation(give_lines(*entry.entry, *entry.body));
  llvm::Value* packed = entry.entry->getArg(0);
  call_body(builder, entry, packed, common_arguments(builder, entry, packed), entry.entry->getArg(1));
  builder.CreateRetVoid();
}

// A constant with C's layout: every field a power of two in size and in order of the struct, so that LLVM adds no other padding.
void export_constant(llvm::Module& module, const std::string& name, llvm::ArrayRef<llvm::Constant*> fields) {
  auto* value = llvm::ConstantStruct::getAnon(module.getContext(), fields);
  auto* variable = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, name);
  variable->setAlignment(llvm::Align(8));
  variable->setVisibility(llvm::GlobalValue::DefaultVisibility);
}

}  // namespace

std::vector<KernelParameter> kernel_parameters(const llvm::Function& kernel) {
  const llvm::DataLayout& layout = kernel.getDataLayout();
  std::vector<KernelParameter> parameters;
  uint64_t offset = 0;
  for (const llvm::Argument& argument : kernel.args()) {
    llvm::Type* by_value = argument.hasByValAttr()   ? argument.getParamByValType()
                           : argument.hasByRefAttr() ? argument.getParamByRefType()
                                                     : nullptr;
    llvm::Type* type = by_value ? by_value : argument.getType();
    llvm::Align alignment = layout.getABITypeAlign(type);
    if (by_value) alignment = std::max(alignment, argument.getParamAlign().valueOrOne());
    offset = llvm::alignTo(offset, alignment);
    uint64_t size = layout.getTypeAllocSize(type).getFixedValue();
    parameters.push_back({offset, size, by_value});
    offset += size;
  }
  return parameters;
}

void make_entry(KernelEntry& entry) {
  const auto drop = [&](llvm::Attribute::AttrKind kind) {
    for (size_t i = 0; i < entry.parameters.size(); ++i) entry.body->removeParamAttr(static_cast<unsigned>(i), kind);
  };
  drop(llvm::Attribute::ByVal);
  if (entry.mode == RunMode::loop) {
    entry.body->addFnAttr(llvm::Attribute::AlwaysInline);
    entry.body->removeFnAttr(llvm::Attribute::NoInline);
    make_run_block(entry);
  } else {
    make_run_thread(entry);
  }
  drop(llvm::Attribute::ByRef);
}

void export_kernel(llvm::Module& module, const KernelEntry& entry, uint64_t stack_bytes) {
  llvm::LLVMContext& context = module.getContext();
  auto word = [&](uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value); };
  auto wide = [&](uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value); };
  auto* none = llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  bool loop = entry.mode == RunMode::loop;
  uint64_t param_bytes = entry.parameters.empty() ? 0 : entry.parameters.back().offset + entry.parameters.back().size;
  llvm::Constant *run = entry.entry, *parameters = none;
  if (!entry.parameters.empty()) {
    std::vector<llvm::Constant*> places;
    for (const KernelParameter& parameter : entry.parameters)
      places.push_back(llvm::ConstantStruct::getAnon(context, {wide(parameter.offset), wide(parameter.size)}));
    auto* array = llvm::ConstantArray::get(llvm::ArrayType::get(places[0]->getType(), places.size()), places);
    parameters = new llvm::GlobalVariable(module, array->getType(), true, llvm::GlobalValue::PrivateLinkage, array);
  }
  export_constant(
      module, MNEME_CPU_KERNEL_PREFIX + entry.name,
      {word(MNEME_CPU_IMAGE_VERSION), word(loop ? MNEME_CPU_LOOP : MNEME_CPU_FIBERS), wide(param_bytes),
       wide(entry.static_shared_bytes), wide(stack_bytes), word(entry.max_threads), word(entry.shared_alignment),
       loop ? run : none, loop ? none : run, parameters, wide(entry.parameters.size()), word(entry.warp_size), word(0)});
}

void export_globals(llvm::Module& module, const std::vector<GlobalEntry>& globals) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  auto* none = llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  auto word = [&](uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value); };
  std::vector<llvm::Constant*> rows;
  for (const GlobalEntry& global : globals) {
    auto* text = llvm::ConstantDataArray::getString(context, global.name);
    auto* name = new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::PrivateLinkage, text);
    llvm::Constant* initializer =
        global.initializer ? llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(global.initializer, pointer) : none;
    rows.push_back(llvm::ConstantStruct::getAnon(
        context,
        {name, llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(global.address, pointer),
         llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), global.size), initializer, word(global.bound), word(0)}));
  }
  llvm::Constant* table = none;
  if (!rows.empty()) {
    auto* array = llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows);
    table =
        new llvm::GlobalVariable(module, array->getType(), true, llvm::GlobalValue::InternalLinkage, array, "__mneme_globals");
  }
  export_constant(module, MNEME_CPU_IMAGE_SYMBOL, {word(MNEME_CPU_IMAGE_VERSION), word(rows.size()), table});
}

}  // namespace mneme::cpu
