#include "mneme/compile/nvptx/nvptxcompiler.h"

#include <array>

#include "mneme/compile/compile_key.h"
#include "mneme/compile/nvptx/tool_library.h"

namespace mneme::nvptx {
namespace {

// From nvPTXCompiler's documented interface, which is the same since CUDA 11.1.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr std::array<const char*, 10> kResultNames = {"SUCCESS",
                                                      "ERROR_INVALID_COMPILER_HANDLE",
                                                      "ERROR_INVALID_INPUT",
                                                      "ERROR_COMPILATION_FAILURE",
                                                      "ERROR_INTERNAL",
                                                      "ERROR_OUT_OF_MEMORY",
                                                      "ERROR_COMPILER_INVOCATION_INCOMPLETE",
                                                      "ERROR_UNSUPPORTED_PTX_VERSION",
                                                      "ERROR_UNSUPPORTED_DEVSIDE_SYNC",
                                                      "ERROR_CANCELLED"};

struct Library {
  int (*version)(unsigned* major, unsigned* minor) = nullptr;
  int (*create)(Handle*, size_t size, const char* ptx) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*compile)(Handle, int option_count, const char* const* options) = nullptr;
  int (*cubin_size)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*error_log_size)(Handle, size_t*) = nullptr;
  int (*error_log)(Handle, char*) = nullptr;
  int (*info_log_size)(Handle, size_t*) = nullptr;
  int (*info_log)(Handle, char*) = nullptr;
};

class NvPtxCompiler final : public PtxAssembler {
 public:
  NvPtxCompiler(const Library& library, const std::string& path) : library_(library) {
    unsigned major = 0, minor = 0;
    library_.version(&major, &minor);
    identity_ = fmt::format("nvptxcompiler {}.{} {}", major, minor, describe_file(path));
  }
  std::string_view name() const override { return "nvptxcompiler"; }
  std::string identity() const override { return identity_; }

  Result<Assembled> assemble(const AssembleRequest& request) override {
    const std::vector<std::string> arguments = ptxas_arguments(request);
    std::vector<const char*> options;
    for (const std::string& argument : arguments) options.push_back(argument.c_str());
    Handle handle = nullptr;
    Assembled assembled;
    assembled.image.device = DeviceKind::cuda;
    int result = compile(handle, request.ptx, options, assembled.image.bytes);
    if (result != kSuccess) return failed(handle, result, request.architecture);
    assembled.log = read_tool_log(handle, library_.info_log_size, library_.info_log);
    library_.destroy(&handle);
    return assembled;
  }

 private:
  int compile(Handle& handle, const std::string& ptx, const std::vector<const char*>& options, ByteVector& cubin) {
    if (int result = library_.create(&handle, ptx.size(), ptx.c_str()); result != kSuccess) return result;
    if (int result = library_.compile(handle, static_cast<int>(options.size()), options.data()); result != kSuccess)
      return result;
    size_t size = 0;
    if (int result = library_.cubin_size(handle, &size); result != kSuccess) return result;
    cubin.resize(size);
    return library_.cubin(handle, cubin.data());
  }

  // Takes the log, then gives up the handle, which is null when even its creation failed.
  Status failed(Handle handle, int result, const std::string& architecture) {
    const std::string log = read_tool_log(handle, library_.error_log_size, library_.error_log);
    if (handle != nullptr) library_.destroy(&handle);
    std::string name = static_cast<size_t>(result) < kResultNames.size() ? fmt::format("NVPTXCOMPILE_{}", kResultNames[result])
                                                                         : fmt::format("nvPTXCompiler error {}", result);
    return error(Code::incompatible, "assembling PTX for {} by nvPTXCompiler: {}{}{}", architecture, name,
                 log.empty() ? "" : ": ", log);
  }

  Library library_;
  std::string identity_;
};

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_nvptxcompiler(const std::vector<std::string>& paths) {
  Library library;
  auto path = open_tool_library(paths, {{"nvPTXCompilerGetVersion", reinterpret_cast<void**>(&library.version)},
                                        {"nvPTXCompilerCreate", reinterpret_cast<void**>(&library.create)},
                                        {"nvPTXCompilerDestroy", reinterpret_cast<void**>(&library.destroy)},
                                        {"nvPTXCompilerCompile", reinterpret_cast<void**>(&library.compile)},
                                        {"nvPTXCompilerGetCompiledProgramSize", reinterpret_cast<void**>(&library.cubin_size)},
                                        {"nvPTXCompilerGetCompiledProgram", reinterpret_cast<void**>(&library.cubin)},
                                        {"nvPTXCompilerGetErrorLogSize", reinterpret_cast<void**>(&library.error_log_size)},
                                        {"nvPTXCompilerGetErrorLog", reinterpret_cast<void**>(&library.error_log)},
                                        {"nvPTXCompilerGetInfoLogSize", reinterpret_cast<void**>(&library.info_log_size)},
                                        {"nvPTXCompilerGetInfoLog", reinterpret_cast<void**>(&library.info_log)}});
  if (path.ok()) return std::unique_ptr<PtxAssembler>(new NvPtxCompiler(library, *path));
  return error(Code::unavailable,
               "opening nvPTXCompiler, to assemble PTX: {}; Mneme has it where the CUDA toolkit that it was built with has "
               "libnvptxcompiler_static.a: set MNEME_PTX_ASSEMBLER to nvjitlink, ptxas or driver",
               path.status().message());
}

}  // namespace mneme::nvptx
