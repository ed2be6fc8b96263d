#include "mneme/ir/module_ref.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/AsmParser/SlotMapping.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/Support/SourceMgr.h>

#include "mneme/ir/global.h"
#include "mneme/ir/global_access.h"
#include "mneme/ir/handle_access.h"
#include "mneme/ir/launch_reads.h"

namespace mneme::ir {
namespace {

Result<llvm::Module*> read(const std::shared_ptr<ModuleState>& state) {
  MNEME_TRY(state->check());
  return &state->llvm();
}

Result<llvm::Module*> change(const std::shared_ptr<ModuleState>& state) {
  MNEME_TRY(state->check());
  return &llvm_module(*state->module);
}

// The module's named types, which the parser would take for new ones.
llvm::SlotMapping known_types(const llvm::Module& module) {
  llvm::SlotMapping slots;
  for (llvm::StructType* type : module.getIdentifiedStructTypes())
    if (type->hasName()) slots.NamedTypes[type->getName()] = type;
  return slots;
}

bool has_unknown_struct(llvm::Type& type, const llvm::SlotMapping& known) {
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(&type); structure && !structure->isLiteral())
    return !structure->hasName() || known.NamedTypes.lookup(structure->getName()) != structure;
  return llvm::any_of(type.subtypes(), [&](llvm::Type* part) { return has_unknown_struct(*part, known); });
}

Status no_such(const char* what, const std::string& text, const llvm::SMDiagnostic& diagnostic) {
  return error(Code::invalid_argument, "'{}' is no LLVM {}: column {}: {}", text, what, diagnostic.getColumnNo() + 1,
               diagnostic.getMessage().str());
}

// What the parser made for names that it did not find.
bool remove_new_globals(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::GlobalValue*>& before) {
  llvm::SmallVector<llvm::GlobalValue*> made;
  for (llvm::GlobalValue& value : module.global_values())
    if (!before.contains(&value)) made.push_back(&value);
  for (llvm::GlobalValue* value : made) {
    value->replaceAllUsesWith(llvm::PoisonValue::get(value->getType()));
    value->eraseFromParent();
  }
  return !made.empty();
}

Status check_new_name(const llvm::Module& module, const std::string& name) {
  if (name.find('\0') != std::string::npos)
    return error(Code::invalid_argument, "a symbol of module {} cannot have a NUL in its name", module.getName().str());
  if (!module.getNamedValue(name)) return {};
  return error(Code::invalid_argument, "adding '{}' to module {}: there is a '{}' already", name, module.getName().str(), name);
}

}  // namespace

ModuleRef::ModuleRef(Module module) : state_(std::make_shared<ModuleState>(std::move(module))) {}

Result<ModuleRef> ModuleRef::create(const std::string& name, const std::string& triple, const std::string& data_layout) {
  auto impl = std::make_unique<Module::Impl>();
  impl->context = std::make_unique<llvm::LLVMContext>();
  impl->module = std::make_unique<llvm::Module>(name, *impl->context);
  ModuleRef made{Module(std::move(impl))};
  MNEME_TRY(made.set_triple(triple));
  MNEME_TRY(made.set_data_layout(data_layout));
  return made;
}

Result<std::string> ModuleRef::name() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return module->getModuleIdentifier();
}

Status ModuleRef::set_name(const std::string& name) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  module->setModuleIdentifier(name);
  return {};
}

Result<std::string> ModuleRef::source_name() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return module->getSourceFileName();
}

Result<std::string> ModuleRef::triple() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return module->getTargetTriple().str();
}

Status ModuleRef::set_triple(const std::string& triple) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  module->setTargetTriple(llvm::Triple(triple));
  return {};
}

Result<std::string> ModuleRef::data_layout() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return module->getDataLayoutStr();
}

Status ModuleRef::set_data_layout(const std::string& text) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  auto layout = llvm::DataLayout::parse(text);
  if (!layout) return error(Code::invalid_argument, "'{}' is no data layout: {}", text, llvm::toString(layout.takeError()));
  module->setDataLayout(*layout);
  return {};
}

Status ModuleRef::verify() const {
  MNEME_TRY(state_->check());
  return state_->module->verify();
}

Result<std::string> ModuleRef::print() const {
  MNEME_TRY(state_->check());
  return state_->module->print();
}

// LLVM's writer takes valid IR for granted.
Result<ByteVector> ModuleRef::bitcode() const {
  MNEME_TRY(verify());
  return state_->module->bitcode();
}

Result<Digest> ModuleRef::digest() const {
  MNEME_TRY(verify());
  return state_->module->digest();
}

Result<Module> ModuleRef::copy() const {
  MNEME_TRY(verify());
  return state_->module->clone();
}

Status ModuleRef::link(const ModuleRef& other) {
  MNEME_TRY(verify());
  if (other.state_ == state_)
    return error(Code::invalid_argument, "module {} cannot be linked into itself", state_->llvm().getName().str());
  MNEME_ASSIGN(Module added, other.copy());
  MNEME_ASSIGN(Module trial, copy());  // LLVM's linker leaves what it refuses half done
  MNEME_ASSIGN(Module again, added.clone());
  MNEME_TRY(trial.link(std::move(again)));
  MNEME_TRY(state_->module->link(std::move(added)));
  return verify();
}

Result<bool> ModuleRef::strip_debug_info() {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  return llvm::StripDebugInfo(*module);
}

Status ModuleRef::name_launch_reads() {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  ir::name_launch_reads(*module);
  return {};
}

Result<std::vector<ValueRef>> ModuleRef::functions() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return refer_all(state_, module->functions());
}

Result<std::vector<ValueRef>> ModuleRef::global_variables() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return refer_all(state_, module->globals());
}

Result<std::vector<ValueRef>> ModuleRef::aliases() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return refer_all(state_, module->aliases());
}

Result<std::vector<std::pair<std::string, std::vector<MetadataRef>>>> ModuleRef::named_metadata() const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  std::vector<std::pair<std::string, std::vector<MetadataRef>>> all;
  for (llvm::NamedMDNode& named : module->named_metadata()) {
    auto& [name, nodes] = all.emplace_back(named.getName().str(), std::vector<MetadataRef>());
    for (llvm::MDNode* node : named.operands()) nodes.push_back(refer(state_, static_cast<llvm::Metadata*>(node)));
  }
  return all;
}

Result<TypeRef> ModuleRef::type(const std::string& text) const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  MNEME_TRY(check_nesting(text));
  if (text == "void") return refer(state_, llvm::Type::getVoidTy(module->getContext()));
  const llvm::SlotMapping slots = known_types(*module);
  llvm::SMDiagnostic diagnostic;
  llvm::Type* type = llvm::parseType(text, diagnostic, *module, &slots);
  if (!type) return no_such("type", text, diagnostic);
  if (has_unknown_struct(*type, slots))
    return error(Code::invalid_argument, "'{}' is no LLVM type: module {} has no structure of that name", text,
                 module->getName().str());
  return refer(state_, type);
}

Result<ValueRef> ModuleRef::constant(const std::string& text) const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  MNEME_TRY(check_nesting(text));
  if (llvm::StringRef(text).contains("blockaddress"))
    return error(Code::unsupported, "'{}': the address of a block cannot be taken", text);
  const llvm::SlotMapping slots = known_types(*module);
  llvm::SmallPtrSet<llvm::GlobalValue*, 16> before;
  for (llvm::GlobalValue& value : module->global_values()) before.insert(&value);
  llvm::SMDiagnostic diagnostic;
  llvm::Constant* constant = llvm::parseConstantValue(text, diagnostic, *module, &slots);
  if (remove_new_globals(*module, before))
    return error(Code::invalid_argument, "'{}' is no LLVM constant: it names what module {} does not have", text,
                 module->getName().str());
  if (!constant) return no_such("constant", text, diagnostic);
  return refer(state_, static_cast<llvm::Value*>(constant));
}

Result<ValueRef> ModuleRef::add_function(const std::string& name, const TypeRef& type, const std::string& linkage) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  MNEME_ASSIGN(llvm::Type * given, get_of(state_, type));
  auto* signature = llvm::dyn_cast<llvm::FunctionType>(given);
  if (!signature)
    return error(Code::invalid_argument,
                 "adding function '{}': {} is no type of a function, which is written like 'void (i32, ptr)'", name,
                 printed(*given));
  MNEME_TRY(check_new_name(*module, name));
  MNEME_ASSIGN(const auto link, parse_linkage(linkage));
  if (name.starts_with("llvm."))
    return error(Code::invalid_argument,
                 "adding function '{}': names that begin with llvm. are LLVM's own; a builder's intrinsic() declares one", name);
  return refer(state_, static_cast<llvm::Value*>(llvm::Function::Create(signature, link, name, *module)));
}

Result<ValueRef> ModuleRef::add_global_variable(const std::string& name, const TypeRef& type,
                                                const GlobalVariableOptions& options) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  MNEME_ASSIGN(llvm::Type * given, get_of(state_, type));
  if (!llvm::PointerType::isValidElementType(given) || !given->isSized() || given->isScalableTy() || given->isFunctionTy())
    return error(Code::invalid_argument, "adding global variable '{}': there are none of type {}", name, printed(*given));
  MNEME_TRY(check_new_name(*module, name));
  MNEME_TRY(check_address_space(options.address_space));
  MNEME_ASSIGN(const auto link, parse_linkage(options.linkage));
  return refer(state_, static_cast<llvm::Value*>(new llvm::GlobalVariable(*module, given, options.is_constant, link, nullptr,
                                                                          name, nullptr, llvm::GlobalValue::NotThreadLocal,
                                                                          options.address_space)));
}

Result<MetadataRef> ModuleRef::metadata_string(const std::string& text) const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  return refer(state_, static_cast<llvm::Metadata*>(llvm::MDString::get(module->getContext(), text)));
}

Result<MetadataRef> ModuleRef::metadata_value(const ValueRef& value) const {
  MNEME_TRY(get_of(state_, value).status());
  MNEME_ASSIGN(llvm::Constant * constant, get<llvm::Constant>(value));
  return refer(state_, static_cast<llvm::Metadata*>(llvm::ConstantAsMetadata::get(constant)));
}

Result<MetadataRef> ModuleRef::metadata_node(const std::vector<std::optional<MetadataRef>>& operands) const {
  MNEME_ASSIGN(llvm::Module * module, read(state_));
  llvm::SmallVector<llvm::Metadata*> parts;
  for (const auto& operand : operands) {
    parts.push_back(nullptr);
    if (operand) {
      MNEME_ASSIGN(parts.back(), get_of(state_, *operand));
    }
  }
  return refer(state_, static_cast<llvm::Metadata*>(llvm::MDTuple::get(module->getContext(), parts)));
}

Status ModuleRef::add_named_metadata(const std::string& name, const MetadataRef& node) {
  MNEME_ASSIGN(llvm::Module * module, change(state_));
  MNEME_ASSIGN(llvm::Metadata * metadata, get_of(state_, node));
  auto* given = llvm::dyn_cast<llvm::MDNode>(metadata);
  if (!given || name.empty())
    return error(Code::invalid_argument, "adding named metadata '{}': it has a name, and its operands are nodes", name);
  if (name.starts_with("llvm.") && !llvm::isa<llvm::MDTuple>(given))
    return error(Code::invalid_argument, "adding named metadata '{}': its operands are tuples", name);
  module->getOrInsertNamedMetadata(name)->addOperand(given);
  return {};
}

void ModuleRef::restart(Module module, std::string why) {
  state_->end(std::move(why));
  state_ = std::make_shared<ModuleState>(std::move(module));
}

void ModuleRef::become(Module module, std::string why) {
  auto next = std::make_shared<ModuleState>(std::move(module), state_->mutex);
  {
    std::scoped_lock lock(*state_->mutex);
    for (ValueHandle* handle : state_->symbols) {
      const llvm::Value* before = handle->value;
      llvm::GlobalValue* after = before && before->hasName() ? next->llvm().getNamedValue(before->getName()) : nullptr;
      if (!after || after->getValueID() != before->getValueID()) continue;
      handle->state = next;
      handle->value = after;
      next->symbols.insert(handle);
      next->identities[after] = handle->identity;
    }
    std::erase_if(state_->symbols, [&](const ValueHandle* handle) { return handle->state == next; });
  }
  state_->end(std::move(why));
  state_ = std::move(next);
}

Status ModuleRef::begin_run() {
  MNEME_TRY(state_->check());
  if (state_->is_in_pipeline)
    return error(Code::invalid_argument,
                 "running passes on module {} from a pass of its own pipeline: name them in that pipeline",
                 state_->llvm().getName().str());
  state_->is_in_pipeline = true;
  state_->enter(ModuleState::Phase::running);
  return {};
}

void ModuleRef::end_run() {
  state_->is_in_pipeline = false;
  state_->enter(ModuleState::Phase::usable);
}

}  // namespace mneme::ir
