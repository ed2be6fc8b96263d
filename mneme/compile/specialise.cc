#include "mneme/compile/specialise.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "mneme/compile/argument_constant.h"
#include "mneme/compile/prepare.h"

namespace mneme {
namespace {

using llvm::dyn_cast;

constexpr unsigned kConstantSpace = 4;  // where a kernel's own parameters are, too: small, and read alike by all threads
constexpr char kMaxThreads[] = "nvvm.maxntid";
constexpr char kRequiredThreads[] = "nvvm.reqntid";
constexpr char kMinBlocks[] = "nvvm.minctasm";
constexpr char kMaxCluster[] = "nvvm.maxclusterrank";
constexpr char kMaxRegisters[] = "nvvm.maxnreg";
constexpr char kClusterSize[] = "nvvm.cluster_dim";

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
  auto* variable =
      new llvm::GlobalVariable(module, initialiser->getType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                               initialiser, kernel.getName() + ".argument." + llvm::Twine(parameter.getArgNo()), nullptr,
                               llvm::GlobalValue::NotThreadLocal, kConstantSpace);
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

// Special registers by what they say.
enum class Read { thread_index, block_index, block_extent, grid_extent };
struct RegisterRead {
  llvm::Intrinsic::ID intrinsic;
  Read read;
  unsigned axis;
};
constexpr RegisterRead kReads[] = {
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, Read::thread_index, 0},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, Read::thread_index, 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z, Read::thread_index, 2},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, Read::block_index, 0},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, Read::block_index, 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, Read::block_index, 2},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, Read::block_extent, 0},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y, Read::block_extent, 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z, Read::block_extent, 2},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, Read::grid_extent, 0},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, Read::grid_extent, 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, Read::grid_extent, 2},
};

template <typename Visit>
void for_each_read(llvm::Module& module, Visit visit) {
  for (llvm::Function& function : module) {
    for (const RegisterRead& read : kReads) {
      if (function.getIntrinsicID() != read.intrinsic) continue;
      for (llvm::User* user : llvm::make_early_inc_range(function.users()))
        if (auto* call = dyn_cast<llvm::CallBase>(user)) visit(read, *call);
    }
  }
}

uint32_t extent(const RegisterRead& read, const LaunchDimensions& dimensions) {
  const bool of_block = read.read == Read::thread_index || read.read == Read::block_extent;
  const Dim3& all = of_block ? dimensions.block : dimensions.grid;
  return read.axis == 0 ? all.x : read.axis == 1 ? all.y : all.z;
}

bool is_index(const RegisterRead& read) { return read.read == Read::thread_index || read.read == Read::block_index; }

void fix_dimensions(llvm::Module& module, const LaunchDimensions& dimensions) {
  for_each_read(module, [&](const RegisterRead& read, llvm::CallBase& call) {
    const uint32_t size = extent(read, dimensions);
    if (is_index(read) && size != 1) return;
    call.replaceAllUsesWith(llvm::ConstantInt::get(call.getType(), is_index(read) ? 0 : size));
    call.eraseFromParent();
  });
}

void add_ranges(llvm::Module& module, const LaunchDimensions& dimensions) {
  for_each_read(module, [&](const RegisterRead& read, llvm::CallBase& call) {
    const unsigned bits = call.getType()->getIntegerBitWidth();
    const uint64_t first = is_index(read) ? 0 : 1, end = first + extent(read, dimensions);
    call.addRangeRetAttr(llvm::ConstantRange(llvm::APInt(bits, first), llvm::APInt(bits, end)));
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

bool has_clusters(const std::string& architecture) {
  unsigned version = 0;
  llvm::StringRef digits(architecture);
  return digits.consume_front("sm_") && !digits.consumeInteger(10, version) && version >= 90;
}

Status set_bounds(llvm::Function& kernel, const LaunchBounds& bounds, const std::string& architecture) {
  if (bounds.max_threads) {
    kernel.removeFnAttr(kRequiredThreads);
    kernel.addFnAttr(kMaxThreads, std::to_string(*bounds.max_threads));
  }
  if (bounds.min_blocks) {
    if (!kernel.hasFnAttribute(kMaxThreads) && !kernel.hasFnAttribute(kRequiredThreads))
      return error(Code::invalid_argument,
                   "specialise.min_blocks has an effect only with a bound of a block's threads, which '{}' has not: give "
                   "specialise.max_threads too",
                   kernel.getName().str());
    kernel.addFnAttr(kMinBlocks, std::to_string(*bounds.min_blocks));
  }
  if (bounds.max_cluster) {
    if (!has_clusters(architecture))
      return error(Code::unsupported, "specialise.max_cluster has no effect on {}: clusters came with sm_90", architecture);
    if (kernel.hasFnAttribute(kClusterSize))
      return error(Code::incompatible, "specialise.max_cluster: '{}' has a cluster size of its own, {}", kernel.getName().str(),
                   kernel.getFnAttribute(kClusterSize).getValueAsString().str());
    kernel.addFnAttr(kMaxCluster, std::to_string(*bounds.max_cluster));
  }
  if (bounds.max_registers) kernel.addFnAttr(kMaxRegisters, std::to_string(*bounds.max_registers));
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
  return set_bounds(*kernel, specialisation.bounds, architecture);
}

}  // namespace mneme
