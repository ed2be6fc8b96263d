// TranslationMemory: what LLVM has made of recorded IR so far, for configurations that ask it the same. Their launches may
// differ, and so may what the assembler is asked.
//
// Each configuration is still loaded, verified and timed for itself; AssemblyMemory is the same for the assembler. A compilation
// that names a pass plugin is done each time, since nobody knows what a plugin's passes depend on. Used by one thread at a time.
#pragma once

#include "mneme/compile/compiler.h"
#include "mneme/compile/remembered.h"
#include "mneme/ir/module.h"

namespace mneme {

class TranslationMemory {
 public:
  // `most`: the code that is remembered at a time; of more the oldest is forgotten.
  explicit TranslationMemory(Bytes most = Bytes(size_t{16} << 20)) : known_(most) {}

  // What `compiler` makes of the IR with these options: Compiler::translate(), or what that has returned before. The times are
  // then what it took before, so that they tell what compiling this configuration takes. Failures are those of translate(), and
  // not remembered. `module` must outlive this object.
  Result<Translation> translate(const ir::Module& module, const CompileOptions& options, Compiler& compiler);

 private:
  Remembered<Translation> known_;
};

}  // namespace mneme
