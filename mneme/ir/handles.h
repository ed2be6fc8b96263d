// Handles to live LLVM IR that are safe to use whatever happens to the IR. No LLVM type is in this header.
//
// A handle keeps the memory of its module alive, but not the value itself. Using a handle fails with
//   not_found         when the value was erased, by a call or by a pass, or when the pipeline of its module has failed;
//   unavailable       while a pipeline runs on the module;
//   invalid_argument  where LLVM would assert or crash.
// One thread at a time may use a module and its handles; any thread may drop handles at any time. Copies of a handle are the same
// handle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::ir {

struct ModuleState;
struct ValueHandle;
struct MetadataHandle;

// A type. It belongs to the context of its module, so two modules share no types.
class TypeRef {
 public:
  TypeRef(std::shared_ptr<ModuleState> state, void* type) : state_(std::move(state)), type_(type) {}
  const std::shared_ptr<ModuleState>& state() const { return state_; }
  void* type() const { return type_; }
  friend bool operator==(const TypeRef& a, const TypeRef& b) { return a.state_ == b.state_ && a.type_ == b.type_; }

 private:
  std::shared_ptr<ModuleState> state_;
  void* type_;  // llvm::Type
};

class ValueRef {
 public:
  explicit ValueRef(std::shared_ptr<ValueHandle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<ValueHandle>& handle() const { return handle_; }

  bool is_alive() const;
  uint64_t hash() const;                                         // stays when the value is erased
  friend bool operator==(const ValueRef& a, const ValueRef& b);  // the same value; an erased one equals only its own handle

 private:
  std::shared_ptr<ValueHandle> handle_;
};

class MetadataRef {
 public:
  explicit MetadataRef(std::shared_ptr<MetadataHandle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<MetadataHandle>& handle() const { return handle_; }
  friend bool operator==(const MetadataRef& a, const MetadataRef& b);
  uint64_t hash() const;

 private:
  std::shared_ptr<MetadataHandle> handle_;
};

}  // namespace mneme::ir
