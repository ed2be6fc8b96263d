// What is behind the handles: the LLVM objects and the state of their module. For this room and for `compile`. Not installed.
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

// One life of a module. A life ends when a pipeline fails, or when another process has run the pipeline; the ModuleRef then has
// another state, with the module that takes the place of this one.
struct ModuleState {
  enum class Phase { usable, running, gone };

  explicit ModuleState(Module parsed) : module(std::make_unique<Module>(std::move(parsed))) {}
  // Begins the next life of a module, which shares the mutex of the one before.
  ModuleState(Module parsed, std::shared_ptr<std::mutex> shared)
      : module(std::make_unique<Module>(std::move(parsed))), mutex(std::move(shared)) {}
  // ok when the module may be used. unavailable: a pipeline is changing it. not_found: its life has ended.
  Status check() const;
  llvm::Module& llvm() { return *module->impl().module; }
  llvm::LLVMContext& context() { return *module->impl().context; }
  // Changes the phase. Handles that other threads dropped while a pipeline ran are destroyed when that phase ends.
  void enter(Phase next);
  // Ends this life after a fatal error of LLVM: its objects are leaked, since they may not even be destroyed.
  void abandon();
  // Ends this life. Handles to it are refused from now on; `why` goes into the messages.
  void end(std::string why);

  std::unique_ptr<Module> module;
  bool is_in_pipeline = false;  // a pipeline runs, also while a pass of the caller's own may use the module
  std::string why_gone;
  // One mutex for all lives of a module. It protects which life a handle belongs to, and the members below.
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  std::atomic<Phase> phase = Phase::usable;
  std::vector<ValueHandle*> dropped_values;
  std::vector<MetadataHandle*> dropped_metadata;
  std::unordered_set<ValueHandle*> symbols;                        // handles to functions, variables and aliases
  std::unordered_map<const llvm::Value*, const void*> identities;  // ValueHandle::identity of symbols from an earlier life
};

struct ValueHandle {
  std::shared_ptr<ModuleState> state;
  llvm::WeakVH value;
  const void* identity;  // what hash() is made from: it stays when the value goes
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

// LLVM's parser recurses at each bracket. Text with more brackets than the stack has room for is refused with invalid_argument.
Status check_nesting(const std::string& text);

// "instruction '%x = fmul float %a, %b'", for messages.
std::string describe(const llvm::Value& value);
std::string printed(const llvm::Type& type);
// How messages call a value of class T.
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

// The LLVM value that a handle stands for, to be read. invalid_argument: it is of another class; else as ModuleState::check().
template <typename T = llvm::Value>
Result<T*> get(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  if (auto* found = llvm::dyn_cast<T>(value)) return found;
  return wrong_kind(*value, kind_name<T>());
}
// The same, to be changed: the module no longer counts as what was read.
template <typename T = llvm::Value>
Result<T*> edit(const ValueRef& ref) {
  MNEME_ASSIGN(T * value, get<T>(ref));
  (void)llvm_module(*state_of(ref)->module);  // resets Module::Impl::source
  return value;
}
Result<llvm::Type*> get(const TypeRef& ref);
Result<llvm::Metadata*> get(const MetadataRef& ref);

// The same for values, types and metadata of that module; invalid_argument for those of another one.
Result<llvm::Value*> get_of(const std::shared_ptr<ModuleState>& state, const ValueRef& ref);
Result<llvm::Type*> get_of(const std::shared_ptr<ModuleState>& state, const TypeRef& ref);
Result<llvm::Metadata*> get_of(const std::shared_ptr<ModuleState>& state, const MetadataRef& ref);
// ok when an instruction of `function` can have the operand; invalid_argument when the operand is local to another function.
Status check_operand(const llvm::Function* function, const llvm::Value& operand);

template <typename Range>
std::vector<ValueRef> refer_all(const std::shared_ptr<ModuleState>& state, Range&& range) {
  std::vector<ValueRef> all;
  for (auto& value : range) all.push_back(refer(state, &value));
  return all;
}

}  // namespace mneme::ir
