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

// Whether the value is a kernel: a function whose calling convention says that the host launches it.
bool is_kernel(const llvm::GlobalValue& value);

// The root and every global that it reaches through operands, initialisers and aliasees, in the order in which a walk from the
// root meets them. Globals are functions, variables and aliases, defined or only declared; intrinsics are among them.
struct Closure {
  llvm::GlobalValue* root = nullptr;
  llvm::SetVector<llvm::GlobalValue*> members;
  std::vector<std::string> needs;  // names of members that are declared here and that another file must define
};

// Fails when the root reaches what a module of its own cannot hold (an ifunc, a thread-local variable, a function that
// module-level assembly may define). The error says which.
llvm::Expected<Closure> collect_closure(llvm::GlobalValue& root);

struct ExtractedModule {
  std::unique_ptr<llvm::Module> module;                                 // in the context of the original
  llvm::GlobalValue* root = nullptr;                                    // in `module`
  llvm::DenseMap<const llvm::GlobalValue*, llvm::GlobalValue*> clones;  // members to their copies
};

// Copies a closure to a module of its own, which compiles alone and links with other extracted modules of the program.
//
// The root and the state variables are visible under their canonical names. Other code that was visible becomes linkonce_odr
// (weak where another definition may take its place); internal code stays internal. The name of a state variable of the file's
// own ends in `tag`, which is file_tag(), or empty for a closure that is never linked with others. llvm.used, comdats and the
// debug information of other globals are left out. So is what clang adds to functions only because optimisation is off: optnone,
// and noinline with it. Fails with the verifier's words when the module is not valid.
llvm::Expected<ExtractedModule> extract(const Closure& closure, llvm::StringRef tag);

}  // namespace mneme::instrument
