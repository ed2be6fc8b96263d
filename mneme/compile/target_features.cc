#include "mneme/compile/target_features.h"

#include "mneme/base/suggestion.h"

namespace mneme {

Status check_features(const std::string& features, const llvm::MCSubtargetInfo& known, const std::string& target) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(features).split(parts, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV& feature : known.getAllProcessorFeatures()) names.emplace_back(feature.Key);
  for (llvm::StringRef part : parts) {
    llvm::StringRef name = part;
    if (!name.consume_front("+") && !name.consume_front("-"))
      return error(Code::invalid_argument, "the target feature '{}' begins with neither + nor -, as in '+{}'", part.str(),
                   part.str());
    if (std::find(names.begin(), names.end(), name) == names.end())
      return error(Code::invalid_argument, "{} has no feature '{}'{}", target, name.str(), did_you_mean(name.str(), names));
  }
  return {};
}

}  // namespace mneme
