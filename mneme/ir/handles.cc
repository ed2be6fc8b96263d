#include "mneme/ir/handles.h"

#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

constexpr size_t kLongestDescription = 120;
constexpr size_t kDeepestNesting = 1000;

template <typename Handle>
void drop(Handle* handle, std::vector<Handle*> ModuleState::* waiting) {
  const std::shared_ptr<std::mutex> mutex = handle->mutex;
  std::shared_ptr<ModuleState> state;
  {
    std::scoped_lock lock(*mutex);
    state = handle->state;
    if constexpr (std::is_same_v<Handle, ValueHandle>) state->symbols.erase(handle);
    if (state->phase == ModuleState::Phase::running) {
      (*state.*waiting).push_back(handle);
      return;
    }
    if (state->phase == ModuleState::Phase::gone && state->module == nullptr) return;  // its context must not be touched
  }
  delete handle;
}

std::string shortened(std::string text) {
  text = llvm::StringRef(text).trim().split('\n').first.str();
  if (text.size() > kLongestDescription) text = text.substr(0, kLongestDescription - 3) + "...";
  return text;
}

const char* kind_of(const llvm::Value& value) {
  if (llvm::isa<llvm::Instruction>(value)) return "instruction";
  if (llvm::isa<llvm::BasicBlock>(value)) return "basic block";
  if (llvm::isa<llvm::Function>(value)) return "function";
  if (llvm::isa<llvm::GlobalVariable>(value)) return "global variable";
  if (llvm::isa<llvm::Argument>(value)) return "argument";
  return llvm::isa<llvm::Constant>(value) ? "constant" : "value";
}

}  // namespace

Status ModuleState::check() const {
  if (phase == Phase::usable) return {};
  if (phase == Phase::running)
    return error(Code::unavailable, "a pipeline is changing module {}: wait for it to end", llvm_module(*module).getName().str());
  return error(Code::not_found, "this LLVM value is gone: {}; take the value from the module again", why_gone);
}

void ModuleState::enter(Phase next) {
  std::vector<ValueHandle*> values;
  std::vector<MetadataHandle*> metadata;
  {
    std::scoped_lock lock(*mutex);
    phase = next;
    if (next == Phase::running) return;
    values.swap(dropped_values);
    metadata.swap(dropped_metadata);
  }
  if (!module) return;
  for (ValueHandle* handle : values) delete handle;
  for (MetadataHandle* handle : metadata) delete handle;
}

void ModuleState::abandon() {
  (void)module.release();
  enter(Phase::gone);
}

void ModuleState::end(std::string why) {
  why_gone = std::move(why);
  enter(Phase::gone);
}

ValueRef refer(const std::shared_ptr<ModuleState>& state, llvm::Value* value) {
  auto* handle = new ValueHandle{state, llvm::WeakVH(value), value, state->mutex};
  if (llvm::isa<llvm::GlobalValue>(value)) {
    std::scoped_lock lock(*state->mutex);
    state->symbols.insert(handle);
    if (const auto known = state->identities.find(value); known != state->identities.end()) handle->identity = known->second;
  }
  return ValueRef(
      std::shared_ptr<ValueHandle>(handle, [](ValueHandle* dropped) { drop(dropped, &ModuleState::dropped_values); }));
}

MetadataRef refer(const std::shared_ptr<ModuleState>& state, llvm::Metadata* metadata) {
  return MetadataRef(
      std::shared_ptr<MetadataHandle>(new MetadataHandle{state, llvm::TrackingMDRef(metadata), metadata, state->mutex},
                                      [](MetadataHandle* handle) { drop(handle, &ModuleState::dropped_metadata); }));
}

TypeRef refer(const std::shared_ptr<ModuleState>& state, llvm::Type* type) { return {state, type}; }

bool ValueRef::is_alive() const { return handle_->state->check().ok() && handle_->value != nullptr; }
uint64_t ValueRef::hash() const { return std::hash<const void*>()(handle_->identity); }
bool operator==(const ValueRef& a, const ValueRef& b) {
  if (a.handle_ == b.handle_) return true;
  return a.handle_->state == b.handle_->state && a.is_alive() && b.is_alive() && a.handle_->value == b.handle_->value;
}

uint64_t MetadataRef::hash() const { return std::hash<const void*>()(handle_->identity); }
bool operator==(const MetadataRef& a, const MetadataRef& b) {
  return a.handle_->identity == b.handle_->identity && a.handle_->state == b.handle_->state;
}

std::string printed(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

std::string describe(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::isa<llvm::Instruction>(value))
    value.print(stream);
  else
    value.printAsOperand(stream, false);
  return fmt::format("{} '{}'", kind_of(value), shortened(std::move(text)));
}

Status check_nesting(const std::string& text) {
  const auto is_open = [](char c) { return llvm::StringRef("[{(<").contains(c); };
  if (static_cast<size_t>(llvm::count_if(text, is_open)) <= kDeepestNesting) return {};
  return error(Code::invalid_argument, "'{}' has more than {} brackets", shortened(text), kDeepestNesting);
}

Status wrong_kind(const llvm::Value& value, const char* wanted) {
  return error(Code::invalid_argument, "{} is not {}", describe(value), wanted);
}

Result<llvm::Value*> get_value(const ValueRef& ref) {
  MNEME_TRY(state_of(ref)->check());
  if (llvm::Value* value = ref.handle()->value) return value;
  return error(Code::not_found, "this LLVM value is gone: it was erased, or a pass removed it");
}

Result<llvm::Type*> get(const TypeRef& ref) {
  MNEME_TRY(ref.state()->check());
  return static_cast<llvm::Type*>(ref.type());
}

Result<llvm::Metadata*> get(const MetadataRef& ref) {
  MNEME_TRY(state_of(ref)->check());
  if (llvm::Metadata* metadata = ref.handle()->metadata.get()) return metadata;
  return error(Code::not_found, "this LLVM metadata is gone: the value that it named was erased");
}

namespace {

template <typename Found, typename Ref>
Result<Found*> get_of_module(const std::shared_ptr<ModuleState>& state, const Ref& ref, const char* what) {
  MNEME_ASSIGN(Found * found, get(ref));
  if (state_of(ref) == state) return found;
  MNEME_TRY(state->check());
  return error(Code::invalid_argument, "{} of module {} cannot be used in module {}: each module has its own", what,
               state_of(ref)->llvm().getName().str(), state->llvm().getName().str());
}

const llvm::Function* function_around(const llvm::Value& value) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value)) return instruction->getFunction();
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) return argument->getParent();
  if (auto* block = llvm::dyn_cast<llvm::BasicBlock>(&value)) return block->getParent();
  return nullptr;
}

}  // namespace

Result<llvm::Value*> get_of(const std::shared_ptr<ModuleState>& state, const ValueRef& ref) {
  return get_of_module<llvm::Value>(state, ref, "a value");
}
Result<llvm::Type*> get_of(const std::shared_ptr<ModuleState>& state, const TypeRef& ref) {
  return get_of_module<llvm::Type>(state, ref, "a type");
}
Result<llvm::Metadata*> get_of(const std::shared_ptr<ModuleState>& state, const MetadataRef& ref) {
  return get_of_module<llvm::Metadata>(state, ref, "metadata");
}

Status check_operand(const llvm::Function* function, const llvm::Value& operand) {
  const llvm::Function* around = function_around(operand);
  if (!around || around == function) return {};
  return error(Code::invalid_argument, "{} is local to function '{}' and cannot be used in '{}'", describe(operand),
               around->getName().str(), function ? function->getName().str() : "");
}

}  // namespace mneme::ir
