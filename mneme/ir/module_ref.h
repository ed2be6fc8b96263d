// ModuleRef: a module whose functions, values and types are used through handles (handles.h).
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
  // Makes an empty module. invalid_argument: `data_layout` is no data layout.
  static Result<ModuleRef> create(const std::string& name, const std::string& triple, const std::string& data_layout);

  Result<std::string> name() const;
  Status set_name(const std::string& name);
  Result<std::string> source_name() const;
  Result<std::string> triple() const;
  Status set_triple(const std::string& triple);
  Result<std::string> data_layout() const;
  Status set_data_layout(const std::string& layout);

  // As the functions of Module. bitcode(), digest() and copy() want valid IR; corrupt otherwise, in the verifier's words.
  Status verify() const;
  Result<std::string> print() const;
  Result<ByteVector> bitcode() const;
  Result<Digest> digest() const;
  Result<Module> copy() const;
  // Links a copy of `other` into this module, as Module::link() does; when LLVM refuses, this module stays as it was.
  // invalid_argument: `other` is this module itself.
  Status link(const ModuleRef& other);
  // Returns whether there was any.
  Result<bool> strip_debug_info();
  // What the code reads of its launch becomes calls of functions that no vendor has, for analyses of both vendors' code:
  // "mneme.launch.thread_index.x", and .block_index, .block_extent (threads of a block) and .grid_extent (blocks) in x, y and z.
  Status name_launch_reads();

  Result<std::vector<ValueRef>> functions() const;
  Result<std::vector<ValueRef>> global_variables() const;
  Result<std::vector<ValueRef>> aliases() const;
  Result<std::vector<std::pair<std::string, std::vector<MetadataRef>>>> named_metadata() const;

  // A type or a constant that is written as in textual IR: "ptr addrspace(1)", "void (i32, ptr)"; "<2 x i32> <i32 1, i32 2>".
  // invalid_argument: it is none; the message has the parser's words. unsupported: a block's address.
  Result<TypeRef> type(const std::string& text) const;
  Result<ValueRef> constant(const std::string& text) const;

  // Add a declaration of a function, or a variable without an initial value. invalid_argument: the name is taken, or the type is
  // not that of a function, or cannot be that of a variable.
  Result<ValueRef> add_function(const std::string& name, const TypeRef& type, const std::string& linkage);
  Result<ValueRef> add_global_variable(const std::string& name, const TypeRef& type, const GlobalVariableOptions& options);
  Result<MetadataRef> metadata_string(const std::string& text) const;
  Result<MetadataRef> metadata_value(const ValueRef& constant) const;
  // An operand that is nothing becomes a null operand.
  Result<MetadataRef> metadata_node(const std::vector<std::optional<MetadataRef>>& operands) const;
  Status add_named_metadata(const std::string& name, const MetadataRef& node);

  const std::shared_ptr<ModuleState>& state() const { return state_; }
  // Puts another module in the place of this one. All handles to this one are refused from then on; `why` goes into the messages.
  void restart(Module module, std::string why);
  // The same, but handles to symbols (functions, variables, aliases) go over to the symbol of the same kind and name in `module`,
  // where it has one.
  void become(Module module, std::string why);

  // To be called around a pipeline. In between, every use of a handle is refused with unavailable. begin_run() returns
  // invalid_argument when a pass of a pipeline on this module calls it.
  Status begin_run();
  void end_run();

 private:
  std::shared_ptr<ModuleState> state_;
};

}  // namespace mneme::ir
