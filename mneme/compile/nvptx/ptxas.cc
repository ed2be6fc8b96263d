#include "mneme/compile/nvptx/ptxas.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "mneme/base/memory_file.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/nvptx/ptxas_run.h"

namespace mneme::nvptx {
namespace {

class Ptxas final : public PtxAssembler {
 public:
  explicit Ptxas(std::string program) : program_(std::move(program)) {}
  std::string_view name() const override { return "ptxas"; }
  std::string identity() const override { return "ptxas " + describe_file(program_); }

  Result<Assembled> assemble(const AssembleRequest& request) override {
    // In memory, so that nothing is left of them when the process is killed.
    MNEME_ASSIGN(Descriptor ptx, make_memory_file("mneme-ptx", std::as_bytes(std::span(request.ptx))));
    MNEME_ASSIGN(Descriptor cubin, make_memory_file("mneme-cubin", {}));
    MNEME_ASSIGN(Descriptor log, make_memory_file("mneme-ptxas-log", {}));
    const std::string input = path_of(ptx), output = path_of(cubin), printed = path_of(log);

    const std::vector<std::string> options = ptxas_arguments(request);
    std::vector<std::string> arguments = {program_, input, "-o", output};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::string words;
    const int status = run_ptxas(program_, arguments, printed, words);
    if (auto text = read_whole(log.number()); text.ok())
      words += std::string(reinterpret_cast<const char*>(text->data()), text->size());
    while (!words.empty() && words.back() == '\n') words.pop_back();
    if (status == 0) {
      MNEME_ASSIGN(ByteVector code, read_whole(cubin.number()));
      return Assembled{{DeviceKind::cuda, std::move(code)}, std::move(words)};
    }
    if (status < 0)
      return error(Code::unavailable, "assembling PTX for {} by {}: it did not run to its end: {}", request.architecture,
                   program_, words);
    return error(Code::incompatible, "assembling PTX for {} by {}: exit status {}: {}", request.architecture, program_, status,
                 words);
  }

 private:
  // For a process that this one starts.
  static std::string path_of(const Descriptor& file) { return fmt::format("/proc/{}/fd/{}", ::getpid(), file.number()); }

  std::string program_;
};

bool can_execute(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_ptxas(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (can_execute(path)) return std::unique_ptr<PtxAssembler>(new Ptxas(path));
  }
  return error(Code::unavailable,
               "finding ptxas, to assemble PTX: not at {}; install the CUDA toolkit, set CUDA_HOME to where it is, or set "
               "MNEME_PTX_ASSEMBLER to nvjitlink or driver",
               fmt::join(paths, ", "));
}

}  // namespace mneme::nvptx
