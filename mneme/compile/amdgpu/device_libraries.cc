#include "mneme/compile/amdgpu/device_libraries.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "mneme/base/file_system.h"
#include "mneme/ir/diagnostics.h"

namespace mneme::amdgpu {
namespace {

bool is_of_libraries(llvm::StringRef name) {
  return name.starts_with("__ocml_") || name.starts_with("__ocmlpriv_") || name.starts_with("__ockl_") ||
         name.starts_with("__ocklpriv_") || name == "__atomic_work_item_fence";
}

// The first function that is open; empty: none is.
std::string open_function(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.use_empty() && is_of_libraries(function.getName())) return function.getName().str();
  return {};
}

Result<std::string> find_folder(const std::vector<std::string>& folders, const std::string& function) {
  if (auto folder = find_device_libraries(folders)) return std::move(*folder);
  return error(Code::unavailable,
               "linking '{}': ROCm's device libraries are not at {}; install them (Debian's package rocm-device-libs), or set "
               "ROCM_PATH to where ROCm is",
               function, fmt::join(folders, ", "));
}

Result<std::unique_ptr<llvm::Module>> read_library(const std::string& path, llvm::Module& module) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return error(Code::io, "reading {}: {}", path, buffer.getError().message());
  auto library = llvm::parseBitcodeFile(**buffer, module.getContext());
  if (!library)
    return error(Code::incompatible, "linking {}: it is no IR that this LLVM reads: {}", path,
                 llvm::toString(library.takeError()));
  (*library)->setTargetTriple(module.getTargetTriple());  // an older LLVM's data layout lacks spaces that have come since
  (*library)->setDataLayout(module.getDataLayout());
  return std::move(*library);
}

Status link_library(llvm::Module& module, const std::string& path) {
  MNEME_ASSIGN(std::unique_ptr<llvm::Module> library, read_library(path, module));
  const auto internalise = [](llvm::Module& into, const llvm::StringSet<>& linked) {
    llvm::internalizeModule(
        into, [&](const llvm::GlobalValue& value) { return !value.hasName() || !linked.contains(value.getName()); });
  };
  ir::DiagnosticCollector diagnostics(module.getContext());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded, internalise))
    return error(Code::incompatible, "linking {}: {}", path, diagnostics.errors());
  return {};
}

}  // namespace

Status link_device_libraries(llvm::Module& module, const std::vector<std::string>& folders) {
  const std::string open = open_function(module);
  if (open.empty()) return {};
  MNEME_ASSIGN(const std::string folder, find_folder(folders, open));
  for (const char* library : kDeviceLibraries) {
    const std::string path = folder + "/" + library;
    if (!open_function(module).empty() && FileSystem::posix().exists(path)) MNEME_TRY(link_library(module, path));
  }
  if (const std::string missing = open_function(module); !missing.empty())
    return error(Code::unsupported, "linking '{}': none of the device libraries at {} has it", missing, folder);
  return {};
}

}  // namespace mneme::amdgpu
