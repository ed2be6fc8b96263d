#include "mneme/compile/nvptx/disassembler.h"

#include <fmt/ranges.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdlib>

#include "mneme/base/file_system.h"

namespace mneme::nvptx {
namespace {

// A file that goes when its remover does.
Result<std::string> temporary_file(const char* suffix, llvm::FileRemover& remover) {
  llvm::SmallString<128> path;
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("mneme-nvdisasm", suffix, path))
    return error(Code::io, "making a temporary file for nvdisasm: {}", failure.message());
  remover.setFile(path);
  return path.str().str();
}

std::string read_text(const std::string& path) {
  auto bytes = FileSystem::posix().read(path);
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

Result<std::string> find_program(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (llvm::sys::fs::can_execute(path)) return path;
  return error(
      Code::unavailable,
      "finding nvdisasm, to disassemble a cubin: not at {}; it comes with the CUDA toolkit: install it, or set CUDA_HOME "
      "to where it is",
      fmt::join(paths, ", "));
}

}  // namespace

std::vector<std::string> nvdisasm_paths() {
  std::vector<std::string> paths;
  auto add = [&](llvm::StringRef folder) {
    std::string path = (folder + "/nvdisasm").str();
    if (!folder.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  };
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) add(std::string(home) + "/bin");
  add("/usr/local/cuda/bin");
  llvm::SmallVector<llvm::StringRef> folders;
  const char* path = std::getenv("PATH");
  llvm::StringRef(path ? path : "").split(folders, ':');
  for (llvm::StringRef folder : folders) add(folder);
  return paths;
}

Result<std::string> disassemble(ByteSpan cubin, const std::vector<std::string>& paths) {
  MNEME_ASSIGN(std::string program, find_program(paths));
  llvm::FileRemover remove_input, remove_output, remove_log;
  MNEME_ASSIGN(std::string input, temporary_file("cubin", remove_input));
  MNEME_ASSIGN(std::string output, temporary_file("sass", remove_output));
  MNEME_ASSIGN(std::string log, temporary_file("log", remove_log));
  MNEME_ASSIGN(std::unique_ptr<WritableFile> file, FileSystem::posix().create(input));
  MNEME_TRY(file->append(cubin));
  MNEME_TRY(file->close());

  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(output), llvm::StringRef(log)};
  std::string failure;
  int status = llvm::sys::ExecuteAndWait(program, {program, "-c", input}, std::nullopt, redirects, 0, 0, &failure);
  if (status == 0) return read_text(output);
  std::string words = llvm::StringRef(failure + read_text(log)).rtrim().str();
  if (status < 0) return error(Code::unavailable, "disassembling by {}: it did not run to its end: {}", program, words);
  return error(Code::incompatible, "disassembling by {}: exit status {}: {}", program, status, words);
}

}  // namespace mneme::nvptx
