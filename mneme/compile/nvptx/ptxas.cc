#include "mneme/compile/nvptx/ptxas.h"

#include <fmt/ranges.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Program.h>

#include <filesystem>
#include <system_error>

#include "mneme/base/file_system.h"
#include "mneme/compile/compile_key.h"

namespace mneme::nvptx {
namespace {

// A folder of its own that goes with it.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> create() {
    llvm::SmallString<128> path;
    if (std::error_code failure = llvm::sys::fs::createUniqueDirectory("mneme-ptxas", path)) {
      return error(Code::io, "making a temporary folder for ptxas: {}", failure.message());
    }
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(Path(path.c_str())));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Path file(const char* name) const { return path_ / name; }

 private:
  explicit TemporaryFolder(Path path) : path_(std::move(path)) {}
  Path path_;
};

class Ptxas final : public PtxAssembler {
 public:
  explicit Ptxas(std::string program) : program_(std::move(program)) {}
  std::string_view name() const override { return "ptxas"; }
  std::string identity() const override { return "ptxas " + describe_file(program_); }

  Result<Assembled> assemble(const AssembleRequest& request) override {
    MNEME_ASSIGN(std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::create());
    FileSystem& files = FileSystem::posix();
    std::string input = folder->file("kernel.ptx"), output = folder->file("kernel.cubin"), log = folder->file("log");
    MNEME_TRY(write(files, input, request.ptx));

    const std::vector<std::string> options = ptxas_arguments(request);
    std::vector<llvm::StringRef> arguments = {program_, input, "-o", output};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
    std::string words;
    int status = llvm::sys::ExecuteAndWait(program_, arguments, std::nullopt, redirects, 0, 0, &words);
    if (auto text = files.read(log); text.ok()) words += std::string(reinterpret_cast<const char*>(text->data()), text->size());
    while (!words.empty() && words.back() == '\n') words.pop_back();
    if (status == 0) {
      MNEME_ASSIGN(ByteVector cubin, files.read(output));
      return Assembled{{DeviceKind::cuda, std::move(cubin)}, std::move(words)};
    }
    if (status < 0)
      return error(Code::unavailable, "assembling PTX for {} by {}: it did not run to its end: {}", request.architecture,
                   program_, words);
    return error(Code::incompatible, "assembling PTX for {} by {}: exit status {}: {}", request.architecture, program_, status,
                 words);
  }

 private:
  static Status write(FileSystem& files, const Path& path, const std::string& text) {
    MNEME_ASSIGN(std::unique_ptr<WritableFile> file, files.create(path));
    MNEME_TRY(file->append(std::as_bytes(std::span(text))));
    return file->close();
  }

  std::string program_;
};

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_ptxas(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (llvm::sys::fs::can_execute(path)) return std::unique_ptr<PtxAssembler>(new Ptxas(path));
  }
  return error(Code::unavailable,
               "finding ptxas, to assemble PTX: not at {}; install the CUDA toolkit, set CUDA_HOME to where it is, or set "
               "MNEME_PTX_ASSEMBLER to nvjitlink or driver",
               fmt::join(paths, ", "));
}

}  // namespace mneme::nvptx
