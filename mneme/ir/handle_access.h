// What stands behind the handles, for the room itself and for `compile`. Not installed.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/TrackingMDRef.h>
#include <llvm/IR/ValueHandle.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "mneme/ir/access.h"
#include "mneme/ir/handles.h"
#include "mneme/ir/module_ref.h"

namespace mneme::ir {

// One life of a module: it ends when a pipeline fails, or is run elsewhere, after which the ModuleRef has another.
struct ModuleState {
  enum class Phase { usable, running, gone };

  explicit ModuleState(Module parsed) : module(std::make_unique<Module>(std::move(parsed))) {}
  // The next life of a module.
  ModuleState(Module parsed, std::shared_ptr<std::mutex> shared)
      : module(std::make_unique<Module>(std::move(parsed))), mutex(std::move(shared)) {}
  // Refuses where it is not usable.
  Status check() const;
  llvm::Module& llvm() { return *module->impl().module; }
  llvm::LLVMContext& context() { return *module->impl().context; }
  // Handles that were dropped while a pipeline ran are let go of when the phase ends.
  void enter(Phase next);
  // After a fatal error: nothing of it may be touched again, not even to destroy it.
  void abandon();
  // Refuses what is not of the next life, and why.
  void end(std::string why);

  std::unique_ptr<Module> module;
  bool is_in_pipeline = false;  // also while a pass of the caller's own may use it
  std::string why_gone;
  // One for all lives of a module. Over which life a handle is of, and over what follows.
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  std::atomic<Phase> phase = Phase::usable;
  std::vector<ValueHandle*> dropped_values;
  std::vector<MetadataHandle*> dropped_metadata;
  std::unordered_set<ValueHandle*> symbols;                        // handles to them
  std::unordered_map<const llvm::Value*, const void*> identities;  // of symbols that had handles in an earlier life
};

struct ValueHandle {
  std::shared_ptr<ModuleState> state;
  llvm::WeakVH value;
  const void* identity;  // for hash()
  std::shared_ptr<std::mutex> mutex;
};

struct MetadataHandle {
  std::shared_ptr<ModuleState> state;
  llvm::TrackingMDRef metadata;
  const void* identity;
  std::shared_ptr<std::mutex> mutex;
};

ValueRef refer(const std::shared_ptr<ModuleState>& state, llvm::Value* value);
MetadataRef refer(const std::shared_ptr<ModuleState>& state, llvm::Metadata* metadata);
TypeRef refer(const std::shared_ptr<ModuleState>& state, llvm::Type* type);

inline const std::shared_ptr<ModuleState>& state_of(const ValueRef& value) { return value.handle()->state; }
inline const std::shared_ptr<ModuleState>& state_of(const TypeRef& type) { return type.state(); }
inline const std::shared_ptr<ModuleState>& state_of(const MetadataRef& metadata) { return metadata.handle()->state; }

// LLVM's parser follows each bracket with a call: what is too deep for this process's stack is refused.
Status check_nesting(const std::string& text);

// "instruction '%x = fmul float %a, %b'", for messages.
std::string describe(const llvm::Value& value);
std::string printed(const llvm::Type& type);
// What values of class T are called in messages.
template <typename T>
constexpr const char* kind_name();
template <>
constexpr const char* kind_name<llvm::Value>() {
  return "a value";
}
template <>
constexpr const char* kind_name<llvm::Instruction>() {
  return "an instruction";
}
template <>
constexpr const char* kind_name<llvm::BasicBlock>() {
  return "a basic block";
}
template <>
constexpr const char* kind_name<llvm::Function>() {
  return "a function";
}
template <>
constexpr const char* kind_name<llvm::Argument>() {
  return "an argument";
}
template <>
constexpr const char* kind_name<llvm::Constant>() {
  return "a constant";
}
template <>
constexpr const char* kind_name<llvm::GlobalValue>() {
  return "a global value";
}
template <>
constexpr const char* kind_name<llvm::GlobalObject>() {
  return "a function or global variable";
}
template <>
constexpr const char* kind_name<llvm::GlobalVariable>() {
  return "a global variable";
}
template <>
constexpr const char* kind_name<llvm::PHINode>() {
  return "a phi";
}
template <>
constexpr const char* kind_name<llvm::CallBase>() {
  return "a call";
}

Result<llvm::Value*> get_value(const ValueRef& ref);
Status wrong_kind(const llvm::Value& value, const char* wanted);

// What a handle stands for, to be read.
template <typename T = llvm::Value>
Result<T*> get(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  if (auto* found = llvm::dyn_cast<T>(value)) return found;
  return wrong_kind(*value, kind_name<T>());
}
// The same, to be changed.
template <typename T = llvm::Value>
Result<T*> edit(const ValueRef& ref) {
  MNEME_ASSIGN(T * value, get<T>(ref));
  (void)llvm_module(*state_of(ref)->module);  // it is no longer what was read
  return value;
}
Result<llvm::Type*> get(const TypeRef& ref);
Result<llvm::Metadata*> get(const MetadataRef& ref);

// The values and types of another module are refused.
Result<llvm::Value*> get_of(const std::shared_ptr<ModuleState>& state, const ValueRef& ref);
Result<llvm::Type*> get_of(const std::shared_ptr<ModuleState>& state, const TypeRef& ref);
Result<llvm::Metadata*> get_of(const std::shared_ptr<ModuleState>& state, const MetadataRef& ref);
// Whether an instruction of `function` can have the operand: what is local to another function is refused.
Status check_operand(const llvm::Function* function, const llvm::Value& operand);

template <typename Range>
std::vector<ValueRef> refer_all(const std::shared_ptr<ModuleState>& state, Range&& range) {
  std::vector<ValueRef> all;
  for (auto& value : range) all.push_back(refer(state, &value));
  return all;
}

}  // namespace mneme::ir
