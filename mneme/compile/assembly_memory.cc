#include "mneme/compile/assembly_memory.h"

#include <algorithm>
#include <map>

namespace mneme {

std::vector<Result<CompiledCode>> AssemblyMemory::assemble_all(std::span<const Translation> translations, Compiler& compiler) {
  std::map<Digest, Result<Known>> here;  // a value that is put into `known_` may have others forgotten
  std::vector<Digest> digests, asked;
  std::vector<Translation> fresh;
  for (const Translation& translation : translations) {
    const Digest& digest = digests.emplace_back(translation.digest());
    if (here.contains(digest) || std::ranges::find(asked, digest) != asked.end()) continue;
    if (const Known* known = known_.find(digest)) {
      here.emplace(digest, *known);
    } else {
      asked.push_back(digest);
      fresh.push_back(translation);
    }
  }
  std::vector<Result<CompiledCode>> assembled = compiler.assemble_all(fresh);
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (!assembled[i].ok()) {
      here.emplace(asked[i], assembled[i].status());
      continue;
    }
    const Known& made = *here.emplace(asked[i], split(fresh[i], std::move(*assembled[i]))).first->second;
    known_.put(asked[i], made, Bytes(made.code.image.bytes.size()));
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
