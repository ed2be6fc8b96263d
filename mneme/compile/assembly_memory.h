// AssemblyMemory: what the assembler has made of translations so far, for configurations that end in the same code and ask the
// same of the assembler, as those do that differ in nothing but their launches.
//
// The code is the same as if each had been assembled by itself, and each configuration is still verified and timed for itself.
// Used by one thread at a time.
#pragma once

#include <span>
#include <vector>

#include "mneme/compile/compiler.h"
#include "mneme/compile/remembered.h"

namespace mneme {

class AssemblyMemory {
 public:
  // `most`: the machine code that is remembered at a time; of more the oldest is forgotten.
  explicit AssemblyMemory(Bytes most = Bytes(size_t{16} << 20)) : known_(most) {}

  // What `compiler` makes of each, in order: Compiler::assemble_all() of those that are not known, of equal ones once. The times
  // of each are those of its own translation, and what assembling it took when that was done. A failure is that of all that are
  // equal to what failed, and is not remembered.
  std::vector<Result<CompiledCode>> assemble_all(std::span<const Translation> translations, Compiler& compiler);

 private:
  struct Known {
    CompiledCode code;  // without times
    std::vector<StageTime> assembling;
  };
  static Known split(const Translation& translation, CompiledCode code);
  static CompiledCode join(const Translation& translation, const Known& known);

  Remembered<Known> known_;
};

}  // namespace mneme
