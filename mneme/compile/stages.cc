#include "mneme/compile/stages.h"

#include <llvm/Support/raw_ostream.h>

namespace mneme {

Status print_to(std::string& text, const llvm::Module& module) {
  text.clear();
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return {};
}

}  // namespace mneme
