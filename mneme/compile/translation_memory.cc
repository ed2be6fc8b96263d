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
  if (auto known = known_.find(key); known != known_.end()) {
    Translation translation = known->second;
    translation.assembler = assembler_options(options);
    return translation;
  }
  MNEME_ASSIGN(Translation translation, compiler.translate(module, options));
  remember(key, translation);
  return translation;
}

void TranslationMemory::remember(const Digest& key, const Translation& translation) {
  const auto size = [](const Translation& one) { return Bytes(one.code.size()); };
  if (size(translation) > most_) return;
  known_.emplace(key, translation);
  oldest_.push_back(key);
  size_ += size(translation);
  while (size_ > most_) {
    const auto oldest = known_.find(oldest_.front());
    size_ = size_ - size(oldest->second);
    known_.erase(oldest);
    oldest_.pop_front();
  }
}

}  // namespace mneme
