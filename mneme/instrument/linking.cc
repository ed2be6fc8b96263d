#include "mneme/instrument/linking.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include "mneme/instrument/names.h"

namespace mneme::instrument {
namespace {

using llvm::StringRef;

std::vector<std::string> command_line() {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!file) return {};
  llvm::SmallVector<StringRef, 64> words;
  (*file)->getBuffer().split(words, '\0');
  return {words.begin(), words.end()};
}

bool shows_relocatable(const llvm::Module& module) {
  if (module.getNamedGlobal("__clang_gpu_used_external")) return true;
  return llvm::any_of(module.global_values(), [](const llvm::GlobalValue& value) { return is_externalised(value.getName()); });
}

}  // namespace

Linking detect_linking(const llvm::Module& module) {
  if (shows_relocatable(module)) return Linking::relocatable;
  bool is_clang = false, is_complete = true, relocatable = false;
  for (StringRef word : command_line()) {
    if (word.starts_with("-fpass-plugin=")) is_clang = true;
    if (word.starts_with("@") || word.starts_with("--config")) is_complete = false;
    if (word == "-fgpu-rdc") relocatable = true;
    if (word == "-fno-gpu-rdc") relocatable = false;
  }
  return is_clang && is_complete && !relocatable ? Linking::whole_program : Linking::relocatable;
}

std::string compilation_unit_id() {
  for (StringRef word : command_line()) {
    if (word.consume_front("-cuid=")) return word.str();
  }
  return {};
}

}  // namespace mneme::instrument
