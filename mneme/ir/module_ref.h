// A module whose functions, values and types are held by handles (handles.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/base/types.h"
#include "mneme/ir/handles.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

struct GlobalVariableOptions {
  std::string linkage = "external";
  unsigned address_space = 0;
  bool is_constant = false;
};

class ModuleRef {
 public:
  explicit ModuleRef(Module module);
  // An empty one. invalid_argument: the data layout is none.
  static Result<ModuleRef> create(const std::string& name, const std::string& triple, const std::string& data_layout);

  Result<std::string> name() const;
  Status set_name(const std::string& name);
  Result<std::string> source_name() const;
  Result<std::string> triple() const;
  Status set_triple(const std::string& triple);
  Result<std::string> data_layout() const;
  Status set_data_layout(const std::string& layout);

  // As Module's. Bitcode and copies are of valid IR only: corrupt otherwise, in the verifier's words.
  Status verify() const;
  Result<std::string> print() const;
  Result<ByteVector> bitcode() const;
  Result<Digest> digest() const;
  Result<Module> copy() const;
  // Adds a copy of `other`; see Module::link. invalid_argument: it is this module itself.
  Status link(const ModuleRef& other);
  // Whether there was any.
  Result<bool> strip_debug_info();

  Result<std::vector<ValueRef>> functions() const;
  Result<std::vector<ValueRef>> global_variables() const;
  Result<std::vector<ValueRef>> aliases() const;
  Result<std::vector<std::pair<std::string, std::vector<MetadataRef>>>> named_metadata() const;

  // A type or a constant as it is written in textual IR: "ptr addrspace(1)", "void (i32, ptr)", "<2 x i32> <i32 1, i32 2>".
  // invalid_argument: it is none, in the parser's words.
  Result<TypeRef> type(const std::string& text) const;
  Result<ValueRef> constant(const std::string& text) const;

  // invalid_argument: the name is taken, or the type is no function's, or can be no variable's.
  Result<ValueRef> add_function(const std::string& name, const TypeRef& type, const std::string& linkage);
  Result<ValueRef> add_global_variable(const std::string& name, const TypeRef& type, const GlobalVariableOptions& options);
  Result<MetadataRef> metadata_string(const std::string& text) const;
  Result<MetadataRef> metadata_value(const ValueRef& constant) const;
  // Empty operands are null.
  Result<MetadataRef> metadata_node(const std::vector<std::optional<MetadataRef>>& operands) const;
  Status add_named_metadata(const std::string& name, const MetadataRef& node);

  const std::shared_ptr<ModuleState>& state() const { return state_; }
  // Puts another module in the place of this one, whose handles are gone then. `why` goes into messages.
  void restart(Module module, std::string why);
  // The same, but that handles to symbols of which the other has one of the same kind and name are handles to those.
  void become(Module module, std::string why);

  // Between the two every handle is refused: unavailable. invalid_argument, from begin: this is called from a pass of its
  // pipeline.
  Status begin_run();
  void end_run();

 private:
  std::shared_ptr<ModuleState> state_;
};

}  // namespace mneme::ir
