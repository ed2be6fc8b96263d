#include "mneme/compile/nvptx/ptxas_run.h"

#include <llvm/Support/Program.h>

#include <vector>

namespace mneme::nvptx {

int run_ptxas(const std::string& program, std::span<const std::string> arguments, const std::string& printed,
              std::string& words) {
  const std::vector<llvm::StringRef> all(arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(printed), llvm::StringRef(printed)};
  return llvm::sys::ExecuteAndWait(program, all, std::nullopt, redirects, 0, 0, &words);
}

}  // namespace mneme::nvptx
