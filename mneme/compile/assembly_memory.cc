#include "mneme/compile/assembly_memory.h"

#include <map>

namespace mneme {

std::vector<Result<CompiledCode>> AssemblyMemory::assemble_all(std::span<const Translation> translations, Compiler& compiler) {
  std::vector<Digest> digests;
  std::map<Digest, Result<Known>> here;  // a value that is put into `known_` may have others forgotten
  std::vector<Translation> fresh;
  for (const Translation& translation : translations) {
    const Digest& digest = digests.emplace_back(translation.digest());
    const Known* known = known_.find(digest);
    auto unknown = error(Code::internal, "not assembled");
    const bool first = here.try_emplace(digest, known ? Result<Known>(*known) : Result<Known>(std::move(unknown))).second;
    if (first && !known) fresh.push_back(translation);
  }
  std::vector<Result<CompiledCode>> assembled = compiler.assemble_all(fresh);
  for (size_t i = 0; i < fresh.size(); ++i) {
    const Digest digest = fresh[i].digest();
    Result<Known>& made = here.at(digest);
    if (!assembled[i].ok()) {
      made = assembled[i].status();
      continue;
    }
    made = split(fresh[i], std::move(*assembled[i]));
    known_.put(digest, *made, Bytes(made->code.image.bytes.size()));
  }
  std::vector<Result<CompiledCode>> all;
  for (size_t i = 0; i < translations.size(); ++i) {
    const Result<Known>& known = here.at(digests[i]);
    if (known.ok())
      all.emplace_back(join(translations[i], *known));
    else
      all.emplace_back(known.status());
  }
  return all;
}

// A compiled code's times begin with those of its translation.
AssemblyMemory::Known AssemblyMemory::split(const Translation& translation, CompiledCode code) {
  Known known{std::move(code), {}};
  const auto assembling = known.code.times.begin() + static_cast<ptrdiff_t>(translation.times.size());
  known.assembling.assign(assembling, known.code.times.end());
  known.code.times.clear();
  return known;
}

CompiledCode AssemblyMemory::join(const Translation& translation, const Known& known) {
  CompiledCode code = known.code;
  code.times = translation.times;
  code.times.insert(code.times.end(), known.assembling.begin(), known.assembling.end());
  return code;
}

}  // namespace mneme
