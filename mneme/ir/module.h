// LLVM IR at hand, with no LLVM type in sight.
//
// A Module owns its own LLVM context, so two modules never share state; an object is used by one thread at a time. Failures:
// corrupt (not bitcode, or it does not verify; LLVM's words are in the message), not_found, incompatible (link conflicts),
// exhausted (too small a stack for LLVM, see stack_limit.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::ir {

struct FunctionInfo {
  std::string name;
  bool is_declaration = false;
  bool is_kernel = false;
  uint64_t instructions = 0;
};

struct GlobalVariableInfo {
  std::string name;
  uint64_t size = 0;
  unsigned address_space = 0;
  bool is_declaration = false;
  bool is_constant = false;
};

class Module {
 public:
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  // Reads bitcode (several concatenated modules are linked, the first one's symbols win) or textual IR. `name` is what errors
  // call the source.
  static Result<Module> parse(ByteSpan bytes, const std::string& name);
  Result<Module> clone() const;  // in a context of its own

  Status link(Module other);  // consumes `other`
  // Gives the symbol `from` the name `to`; nothing happens when there is no `from`. incompatible when there is a `to` already.
  Status rename(const std::string& from, const std::string& to);
  Status verify() const;
  std::string print() const;
  ByteVector bitcode() const;
  // Of what the module was read from; of its bitcode once it has been changed.
  Digest digest() const;

  std::string target_triple() const;
  std::vector<FunctionInfo> functions() const;
  std::vector<GlobalVariableInfo> global_variables() const;

  // For rooms that include LLVM themselves (compile): see access.h.
  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }
  explicit Module(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace mneme::ir
