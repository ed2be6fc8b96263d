#include "mneme/ir/gpu_memory.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

namespace mneme::ir {
namespace {

// AMD's scopes have a twin each that orders one address space alone: "agent-one-as".
llvm::StringRef name_of(llvm::SyncScope::ID scope, const llvm::LLVMContext& context) {
  llvm::SmallVector<llvm::StringRef> names;
  context.getSyncScopeNames(names);
  if (scope >= names.size()) return "?";
  llvm::StringRef name = names[scope];
  if (name == "one-as") return "";
  name.consume_back("-one-as");
  return name;
}

}  // namespace

bool is_device_wide(llvm::SyncScope::ID scope, const llvm::LLVMContext& context) {
  return llvm::is_contained({"", "device", "agent"}, name_of(scope, context));
}

bool is_within_a_block(llvm::SyncScope::ID scope, const llvm::LLVMContext& context) {
  return llvm::is_contained({"singlethread", "wavefront", "block", "workgroup"}, name_of(scope, context));
}

}  // namespace mneme::ir
