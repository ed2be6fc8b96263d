#include "mneme/compile/specialise.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include "mneme/compile/argument_constant.h"
#include "mneme/compile/launch_bounds.h"
#include "mneme/compile/prepare.h"
#include "mneme/ir/gpu_memory.h"
#include "mneme/ir/launch_reads.h"

namespace mneme {
namespace {

using ir::LaunchRead;
using ir::LaunchReadKind;
using llvm::dyn_cast;

Result<llvm::Argument*> find_parameter(llvm::Function& kernel, unsigned index) {
  if (index < kernel.arg_size()) return kernel.getArg(index);
  return error(Code::invalid_argument, "specialising parameter {} of '{}': it has {} parameters", index, kernel.getName().str(),
               kernel.arg_size());
}

llvm::Type* by_value_type(const llvm::Argument& parameter) {
  if (parameter.hasByValAttr()) return parameter.getParamByValType();
  return parameter.hasByRefAttr() ? parameter.getParamByRefType() : nullptr;
}

llvm::Value* constant_structure(llvm::Argument& parameter, llvm::Type* type, ByteSpan bytes) {
  llvm::Function& kernel = *parameter.getParent();
  llvm::Module& module = *kernel.getParent();
  llvm::Constant* initialiser = bytes_constant(type, bytes, module);
  // Constant memory is where a kernel's own parameters are, too: small, and read alike by all threads.
  auto* variable =
      new llvm::GlobalVariable(module, initialiser->getType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                               initialiser, kernel.getName() + ".argument." + llvm::Twine(parameter.getArgNo()), nullptr,
                               llvm::GlobalValue::NotThreadLocal, ir::kConstantSpace);
  const llvm::Align alignment = parameter.getParamAlign().value_or(module.getDataLayout().getABITypeAlign(type));
  variable->setAlignment(alignment);
  // What the language lets nobody write to is the constant itself; else each thread has its copy, as it had of the parameter.
  if (parameter.hasByRefAttr() || kernel.getAttributes().hasParamAttr(parameter.getArgNo(), "nvvm.grid_constant"))
    return llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(variable, parameter.getType());
  llvm::IRBuilder<> builder(&kernel.getEntryBlock(), kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  llvm::AllocaInst* copy = builder.CreateAlloca(initialiser->getType(), module.getDataLayout().getAllocaAddrSpace());
  copy->setAlignment(alignment);
  builder.CreateMemCpy(copy, alignment, variable, alignment, bytes.size());
  return builder.CreatePointerBitCastOrAddrSpaceCast(copy, parameter.getType());
}

Status make_constant(llvm::Function& kernel, const ArgumentValue& argument) {
  MNEME_ASSIGN(llvm::Argument * parameter, find_parameter(kernel, argument.parameter));
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  llvm::Type* structure = by_value_type(*parameter);
  llvm::Type* type = structure ? structure : parameter->getType();
  const uint64_t size = layout.getTypeAllocSize(type).getFixedValue(), least = layout.getTypeStoreSize(type).getFixedValue();
  if (argument.bytes.size() < least || argument.bytes.size() > size)
    return error(Code::invalid_argument, "specialising parameter {} of '{}': it has {} bytes, and its value {}",
                 argument.parameter, kernel.getName().str(), size, argument.bytes.size());
  llvm::Value* value = structure ? constant_structure(*parameter, structure, argument.bytes)
                                 : argument_constant(type, argument.bytes, *kernel.getParent());
  if (!value) {
    std::string spelled;
    llvm::raw_string_ostream(spelled) << *type;
    return error(Code::unsupported, "specialising parameter {} of '{}': there is no constant of type {}", argument.parameter,
                 kernel.getName().str(), spelled);
  }
  parameter->replaceAllUsesWith(value);
  return {};
}

Status add_facts(llvm::Function& kernel, const PointerFacts& facts) {
  MNEME_ASSIGN(llvm::Argument * parameter, find_parameter(kernel, facts.parameter));
  if (!parameter->getType()->isPointerTy() || by_value_type(*parameter))
    return error(Code::invalid_argument, "specialising parameter {} of '{}': it is no pointer", facts.parameter,
                 kernel.getName().str());
  if (llvm::Align(facts.alignment) > parameter->getParamAlign().valueOrOne()) {
    parameter->removeAttr(llvm::Attribute::Alignment);
    parameter->addAttr(llvm::Attribute::getWithAlignment(kernel.getContext(), llvm::Align(facts.alignment)));
  }
  if (facts.no_alias) parameter->addAttr(llvm::Attribute::NoAlias);
  return {};
}

bool is_index(const LaunchReadKind& kind) {
  return kind.read == LaunchRead::thread_index || kind.read == LaunchRead::block_index;
}

void fix_dimensions(llvm::Module& module, const LaunchDimensions& dimensions) {
  ir::for_each_launch_read(module, [&](const LaunchReadKind& kind, llvm::Instruction& read) {
    const uint64_t size = extent_of(kind, dimensions.grid, dimensions.block);
    if (is_index(kind) && size != 1) return;
    read.replaceAllUsesWith(llvm::ConstantInt::get(read.getType(), is_index(kind) ? 0 : size));
    read.eraseFromParent();
  });
}

void add_ranges(llvm::Module& module, const LaunchDimensions& dimensions) {
  ir::for_each_launch_read(module, [&](const LaunchReadKind& kind, llvm::Instruction& read) {
    if (kind.read == LaunchRead::remainder) return;
    const unsigned bits = read.getType()->getIntegerBitWidth();
    const uint64_t first = is_index(kind) ? 0 : 1, end = first + extent_of(kind, dimensions.grid, dimensions.block);
    if (!llvm::isUIntN(bits, end)) return;
    const llvm::ConstantRange range(llvm::APInt(bits, first), llvm::APInt(bits, end));
    if (auto* call = dyn_cast<llvm::CallBase>(&read))
      call->addRangeRetAttr(range);
    else
      read.setMetadata(llvm::LLVMContext::MD_range,
                       llvm::MDBuilder(read.getContext()).createRange(range.getLower(), range.getUpper()));
  });
}

// A kernel that is started by this one has dimensions of its own, and they may share functions.
Status check_alone(const llvm::Module& module, const std::string& kernel) {
  for (const llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration() && function.getName() != kernel)
      return error(Code::unsupported, "specialising the dimensions of '{}': it refers to the kernel '{}', which has others",
                   kernel, function.getName().str());
  return {};
}

}  // namespace

Status specialise(llvm::Module& module, const Specialisation& specialisation, const std::string& architecture) {
  if (specialisation.kernel.empty()) return {};
  llvm::Function* kernel = module.getFunction(specialisation.kernel);
  if (!kernel || kernel->isDeclaration())
    return error(Code::not_found, "specialising '{}': {} does not define it", specialisation.kernel,
                 module.getModuleIdentifier());
  for (const PointerFacts& facts : specialisation.pointers) MNEME_TRY(add_facts(*kernel, facts));
  for (const ArgumentValue& argument : specialisation.arguments) MNEME_TRY(make_constant(*kernel, argument));
  if (specialisation.dimensions || specialisation.ranges) MNEME_TRY(check_alone(module, specialisation.kernel));
  if (specialisation.dimensions) fix_dimensions(module, *specialisation.dimensions);
  if (specialisation.ranges) add_ranges(module, *specialisation.ranges);
  return set_launch_bounds(*kernel, specialisation.bounds, architecture);
}

}  // namespace mneme
