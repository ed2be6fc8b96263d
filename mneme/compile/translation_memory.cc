#include "mneme/compile/translation_memory.h"

#include "mneme/compile/compile_key.h"

namespace mneme {
namespace {

// Of everything that LLVM's result depends on.
Digest key_of(const ir::Module& module, const CompileOptions& options) {
  CompileOptions asked = options;
  asked.assembler = {};
  Hasher hasher;
  hasher.add(reinterpret_cast<uint64_t>(&module));
  add_to(hasher, asked);
  return hasher.finish();
}

}  // namespace

Result<Translation> TranslationMemory::translate(const ir::Module& module, const CompileOptions& options, Compiler& compiler) {
  if (!options.pass_plugins.empty()) return compiler.translate(module, options);
  const Digest key = key_of(module, options);
  if (const Translation* known = known_.find(key)) {
    Translation translation = *known;
    translation.assembler = assembler_options(options);
    return translation;
  }
  MNEME_ASSIGN(Translation translation, compiler.translate(module, options));
  known_.put(key, translation, Bytes(translation.code.size()));
  return translation;
}

}  // namespace mneme
