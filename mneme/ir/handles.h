// Handles to live LLVM IR that stay safe whatever happens to it, with no LLVM type in sight.
//
// A handle keeps its module's memory, not the thing itself: what has been erased, by a call or by a pass, and what belonged to a
// module whose pipeline failed, is refused with not_found. While a pipeline runs, everything is refused with unavailable. What
// LLVM would assert on or crash on is refused with invalid_argument. A module and its handles are used by one thread at a time,
// but for being dropped, which any thread may do at any time. Copies of a handle are the same handle.
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

// A type, of its module's own context: two modules share none.
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
