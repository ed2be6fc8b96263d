// A kernel's closure: the kernel and everything that it reaches, and the module made of it.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class GlobalValue;
class Module;
}  // namespace llvm

namespace mneme::instrument {

// A function that the host launches, by its calling convention.
bool is_kernel(const llvm::GlobalValue& value);

// The root and the globals (functions, variables, aliases; definitions and declarations) that it reaches by operands,
// initialisers and aliasees, in the order in which a walk from the root meets them. Intrinsics are in it.
struct Closure {
  llvm::GlobalValue* root = nullptr;
  llvm::SetVector<llvm::GlobalValue*> members;
  std::vector<std::string> needs;  // members that another file must define
};

// Fails, saying why, when the root reaches what a module of its own cannot hold.
llvm::Expected<Closure> collect_closure(llvm::GlobalValue& root);

struct ExtractedModule {
  std::unique_ptr<llvm::Module> module;                                 // in the context of the original
  llvm::GlobalValue* root = nullptr;                                    // in `module`
  llvm::DenseMap<const llvm::GlobalValue*, llvm::GlobalValue*> clones;  // members to their copies
};

// Copies a closure to a module of its own, such that it compiles alone and links with other extracted modules of the program:
// the root and state variables are visible, by their canonical names; other code that was visible is linkonce_odr, and internal
// code stays so. `tag` (file_tag(), or empty for a closure that is never linked with others) follows the names of the state
// variables that are the file's own. Nothing of llvm.used, comdats, or other globals' debug information comes along. What clang
// adds to functions only because optimisation is off (optnone, and noinline with it) is removed. Verified; fails with the
// verifier's words.
llvm::Expected<ExtractedModule> extract(const Closure& closure, llvm::StringRef tag);

}  // namespace mneme::instrument
