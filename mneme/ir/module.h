// Module: LLVM IR in memory. No LLVM type is in this header.
//
// A Module owns its own LLVM context, so two modules never share state. One thread at a time may use an object. Failures: corrupt
// (no LLVM IR, or IR that does not verify; LLVM's words are in the message), incompatible (modules that do not link, names that
// are taken), exhausted (too small a stack for LLVM, see base/stack_limit.h).
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

  // Reads bitcode or textual IR, and verifies it. Several bitcode files one after another are linked; where two define a symbol,
  // the first definition stays. Debug information that is not valid is dropped. `name` is what errors call the source.
  static Result<Module> parse(ByteSpan bytes, const std::string& name);
  Result<Module> clone() const;  // in a context of its own

  Status link(Module other);  // consumes `other`
  // Gives the symbol `from` the name `to`. Does nothing when there is no `from`. incompatible: there is a `to` already.
  Status rename(const std::string& from, const std::string& to);
  Status verify() const;
  std::string print() const;
  ByteVector bitcode() const;
  // The digest of the bytes that the module was read from; once it may have been changed, that of its bitcode.
  Digest digest() const;

  std::string target_triple() const;
  std::vector<FunctionInfo> functions() const;
  std::vector<GlobalVariableInfo> global_variables() const;

  // For rooms that include LLVM themselves (see access.h).
  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }
  explicit Module(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace mneme::ir
