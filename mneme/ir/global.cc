#include "mneme/ir/global.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/base/suggestion.h"
#include "mneme/ir/global_access.h"
#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

using Linkage = llvm::GlobalValue::LinkageTypes;
constexpr std::pair<std::string_view, Linkage> kLinkages[] = {
    {"external", llvm::GlobalValue::ExternalLinkage},    {"available_externally", llvm::GlobalValue::AvailableExternallyLinkage},
    {"linkonce", llvm::GlobalValue::LinkOnceAnyLinkage}, {"linkonce_odr", llvm::GlobalValue::LinkOnceODRLinkage},
    {"weak", llvm::GlobalValue::WeakAnyLinkage},         {"weak_odr", llvm::GlobalValue::WeakODRLinkage},
    {"appending", llvm::GlobalValue::AppendingLinkage},  {"internal", llvm::GlobalValue::InternalLinkage},
    {"private", llvm::GlobalValue::PrivateLinkage},      {"extern_weak", llvm::GlobalValue::ExternalWeakLinkage},
    {"common", llvm::GlobalValue::CommonLinkage},
};
constexpr std::pair<std::string_view, llvm::GlobalValue::VisibilityTypes> kVisibilities[] = {
    {"default", llvm::GlobalValue::DefaultVisibility},
    {"hidden", llvm::GlobalValue::HiddenVisibility},
    {"protected", llvm::GlobalValue::ProtectedVisibility},
};
constexpr std::pair<std::string_view, unsigned> kCallingConventions[] = {
    {"ccc", llvm::CallingConv::C},
    {"fastcc", llvm::CallingConv::Fast},
    {"coldcc", llvm::CallingConv::Cold},
    {"ptx_kernel", llvm::CallingConv::PTX_Kernel},
    {"ptx_device", llvm::CallingConv::PTX_Device},
    {"amdgpu_kernel", llvm::CallingConv::AMDGPU_KERNEL},
    {"spir_kernel", llvm::CallingConv::SPIR_KERNEL},
    {"spir_func", llvm::CallingConv::SPIR_FUNC},
};

template <typename T, size_t n>
std::string name_in(const std::pair<std::string_view, T> (&table)[n], T wanted) {
  for (const auto& [name, value] : table)
    if (value == wanted) return std::string(name);
  return std::to_string(static_cast<unsigned>(wanted));
}

template <typename T, size_t n>
Result<T> value_in(const std::pair<std::string_view, T> (&table)[n], const std::string& wanted, const char* what) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) {
    if (name == wanted) return value;
    names.emplace_back(name);
  }
  return error(Code::invalid_argument, "'{}' is no {}{}", wanted, what, did_you_mean(wanted, names));
}

std::vector<unsigned> numbers_of(const llvm::Function& function, const char* attribute) {
  std::vector<unsigned> numbers;
  llvm::SmallVector<llvm::StringRef> parts;
  function.getFnAttribute(attribute).getValueAsString().split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    unsigned number = 0;
    if (!part.trim().getAsInteger(10, number)) numbers.push_back(number);
  }
  return numbers;
}

std::optional<unsigned> number_of(const llvm::Function& function, const char* attribute) {
  const std::vector<unsigned> numbers = numbers_of(function, attribute);
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

}  // namespace

Result<Linkage> parse_linkage(const std::string& name) { return value_in(kLinkages, name, "linkage"); }

Result<unsigned> parse_calling_convention(const std::string& name) {
  unsigned number = 0;
  if (!llvm::StringRef(name).getAsInteger(10, number) && number <= llvm::CallingConv::MaxID) return number;
  return value_in(kCallingConventions, name, "calling convention");
}

Status check_address_space(unsigned number) {
  if (llvm::isUInt<24>(number)) return {};
  return error(Code::invalid_argument, "there is no address space {}: the last is {}", number, (1u << 24) - 1);
}

Status check_alignment(uint64_t bytes) {
  if (bytes == 0 || (llvm::isPowerOf2_64(bytes) && bytes <= llvm::Value::MaximumAlignment)) return {};
  return error(Code::invalid_argument, "{} is no alignment: it is a power of two, up to {}", bytes,
               uint64_t{llvm::Value::MaximumAlignment});
}

Result<std::string> linkage(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalValue * global, get<llvm::GlobalValue>(ref));
  return name_in(kLinkages, global->getLinkage());
}

Status set_linkage(const ValueRef& ref, const std::string& name) {
  MNEME_ASSIGN(llvm::GlobalValue * global, edit<llvm::GlobalValue>(ref));
  MNEME_ASSIGN(const Linkage wanted, parse_linkage(name));
  if (llvm::GlobalValue::isLocalLinkage(wanted)) {  // which has the default visibility, always
    global->setVisibility(llvm::GlobalValue::DefaultVisibility);
    global->setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
  }
  global->setLinkage(wanted);
  return {};
}

Result<std::string> visibility(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalValue * global, get<llvm::GlobalValue>(ref));
  return name_in(kVisibilities, global->getVisibility());
}

Status set_visibility(const ValueRef& ref, const std::string& name) {
  MNEME_ASSIGN(llvm::GlobalValue * global, edit<llvm::GlobalValue>(ref));
  MNEME_ASSIGN(const auto wanted, value_in(kVisibilities, name, "visibility"));
  if (global->hasLocalLinkage() && wanted != llvm::GlobalValue::DefaultVisibility)
    return error(Code::invalid_argument, "making {} {}: its linkage is {}, which has the default visibility", describe(*global),
                 name, name_in(kLinkages, global->getLinkage()));
  global->setVisibility(wanted);
  return {};
}

Result<std::string> section(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalObject * object, get<llvm::GlobalObject>(ref));
  return object->getSection().str();
}

Result<uint64_t> alignment_of_global(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalObject * object, get<llvm::GlobalObject>(ref));
  const llvm::MaybeAlign alignment = llvm::isa<llvm::Function>(object) ? llvm::cast<llvm::Function>(object)->getAlign()
                                                                       : llvm::cast<llvm::GlobalVariable>(object)->getAlign();
  return alignment ? alignment->value() : uint64_t{0};
}

Status set_alignment_of_global(const ValueRef& ref, uint64_t bytes) {
  MNEME_ASSIGN(llvm::GlobalObject * object, edit<llvm::GlobalObject>(ref));
  MNEME_TRY(check_alignment(bytes));
  if (auto* function = llvm::dyn_cast<llvm::Function>(object))
    function->setAlignment(llvm::MaybeAlign(bytes));
  else
    llvm::cast<llvm::GlobalVariable>(object)->setAlignment(llvm::MaybeAlign(bytes));
  return {};
}

Result<unsigned> address_space(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalValue * global, get<llvm::GlobalValue>(ref));
  return global->getAddressSpace();
}

Result<bool> is_declaration(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalValue * global, get<llvm::GlobalValue>(ref));
  return global->isDeclaration();
}

Result<TypeRef> value_type(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalValue * global, get<llvm::GlobalValue>(ref));
  return refer(state_of(ref), global->getValueType());
}

Result<std::optional<ValueRef>> initializer(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalVariable * variable, get<llvm::GlobalVariable>(ref));
  if (!variable->hasInitializer()) return std::optional<ValueRef>();
  return std::optional(refer(state_of(ref), static_cast<llvm::Value*>(variable->getInitializer())));
}

Status set_initializer(const ValueRef& ref, const std::optional<ValueRef>& given) {
  MNEME_ASSIGN(llvm::GlobalVariable * variable, edit<llvm::GlobalVariable>(ref));
  llvm::Constant* constant = nullptr;
  if (given) {
    MNEME_TRY(get_of(state_of(ref), *given).status());
    MNEME_ASSIGN(constant, get<llvm::Constant>(*given));
    if (constant->getType() != variable->getValueType())
      return error(Code::invalid_argument, "initialising {}: it is of type {}, and {} of type {}", describe(*variable),
                   printed(*variable->getValueType()), describe(*constant), printed(*constant->getType()));
  }
  variable->setInitializer(constant);
  return {};
}

Result<bool> is_constant(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalVariable * variable, get<llvm::GlobalVariable>(ref));
  return variable->isConstant();
}

Status set_constant(const ValueRef& ref, bool is_constant) {
  MNEME_ASSIGN(llvm::GlobalVariable * variable, edit<llvm::GlobalVariable>(ref));
  variable->setConstant(is_constant);
  return {};
}

Result<bool> is_externally_initialized(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::GlobalVariable * variable, get<llvm::GlobalVariable>(ref));
  return variable->isExternallyInitialized();
}

Result<std::vector<ValueRef>> arguments(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return refer_all(state_of(ref), function->args());
}

Result<std::vector<ValueRef>> blocks(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return refer_all(state_of(ref), *function);
}

Result<std::vector<ValueRef>> instructions(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return refer_all(state_of(ref), llvm::instructions(*function));
}

Result<uint64_t> instruction_count(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return uint64_t{function->getInstructionCount()};
}

Result<std::string> calling_convention(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return name_in(kCallingConventions, static_cast<unsigned>(function->getCallingConv()));
}

Status set_calling_convention(const ValueRef& ref, const std::string& name) {
  MNEME_ASSIGN(llvm::Function * function, edit<llvm::Function>(ref));
  MNEME_ASSIGN(const unsigned convention, parse_calling_convention(name));
  function->setCallingConv(convention);
  return {};
}

Result<bool> is_kernel(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return is_kernel(*function);
}

Result<bool> is_intrinsic(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return function->isIntrinsic();
}

Status verify_function(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (!llvm::verifyFunction(*function, &stream)) return {};
  return error(Code::corrupt, "function '{}' is not valid LLVM IR: {}", function->getName().str(),
               llvm::StringRef(words).rtrim().str());
}

Result<ValueRef> add_block(const ValueRef& ref, const std::string& name, const std::optional<ValueRef>& before) {
  MNEME_ASSIGN(llvm::Function * function, edit<llvm::Function>(ref));
  llvm::BasicBlock* next = nullptr;
  if (before) {
    MNEME_TRY(get_of(state_of(ref), *before).status());
    MNEME_ASSIGN(next, get<llvm::BasicBlock>(*before));
    if (next->getParent() != function)
      return error(Code::invalid_argument, "adding a block to {} before {}: that is a block of {}", describe(*function),
                   describe(*next), describe(*next->getParent()));
  }
  if (function->isIntrinsic())
    return error(Code::invalid_argument, "{} is an intrinsic, which has no blocks", describe(*function));
  if (name.find('\0') != std::string::npos) return error(Code::invalid_argument, "a block's name has no NUL");
  return refer(state_of(ref), static_cast<llvm::Value*>(llvm::BasicBlock::Create(function->getContext(), name, function, next)));
}

Status delete_body(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, edit<llvm::Function>(ref));
  for (const llvm::BasicBlock& block : *function)
    if (block.hasAddressTaken())
      return error(Code::invalid_argument, "deleting the body of {}: the address of {} is taken", describe(*function),
                   describe(block));
  function->deleteBody();
  return {};
}

Result<ValueRef> parent_function(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value))
    return refer(state_of(ref), static_cast<llvm::Value*>(argument->getParent()));
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value))
    return refer(state_of(ref), static_cast<llvm::Value*>(instruction->getFunction()));
  MNEME_ASSIGN(llvm::BasicBlock * block, get<llvm::BasicBlock>(ref));
  return refer(state_of(ref), static_cast<llvm::Value*>(block->getParent()));
}

Result<unsigned> argument_index(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Argument * argument, get<llvm::Argument>(ref));
  return argument->getArgNo();
}

Result<LaunchBounds> launch_bounds(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  return LaunchBounds{.most_threads = numbers_of(*function, "nvvm.maxntid"),
                      .required_threads = numbers_of(*function, "nvvm.reqntid"),
                      .least_blocks = number_of(*function, "nvvm.minctasm"),
                      .most_registers = number_of(*function, "nvvm.maxnreg"),
                      .workgroup = numbers_of(*function, "amdgpu-flat-work-group-size")};
}

}  // namespace mneme::ir
