#include "mneme/compile/nvptx/nvptxcompiler.h"

#include <array>

#include "mneme/base/shared_library.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/nvptx/library_assembler.h"

namespace mneme::nvptx {
namespace {

// From nvPTXCompiler's documented interface, which is the same since CUDA 11.1.
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

struct Library : LibraryAssembler::Functions {
  int (*version)(unsigned* major, unsigned* minor) = nullptr;
  int (*create)(void**, size_t size, const char* ptx) = nullptr;
  int (*compile)(void*, int option_count, const char* const* options) = nullptr;
};

class NvPtxCompiler final : public LibraryAssembler {
 public:
  NvPtxCompiler(const Library& library, const std::string& path)
      : LibraryAssembler(library, {"nvPTXCompiler", "NVPTXCOMPILE_", kResultNames}), library_(library) {
    unsigned major = 0, minor = 0;
    library_.version(&major, &minor);
    identity_ = fmt::format("nvptxcompiler {}.{} {}", major, minor, describe_file(path));
  }
  std::string_view name() const override { return "nvptxcompiler"; }
  std::string identity() const override { return identity_; }

 private:
  std::vector<std::string> arguments(const AssembleRequest& request) const override { return ptxas_arguments(request); }

  int run(Handle& handle, const std::string& ptx, std::span<const char*> options) const override {
    if (int result = library_.create(&handle, ptx.size(), ptx.c_str()); result != kSuccess) return result;
    return library_.compile(handle, static_cast<int>(options.size()), options.data());
  }

  const Library library_;
  std::string identity_;
};

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_nvptxcompiler(const std::vector<std::string>& paths) {
  Library library;
  const auto opened =
      SharedLibrary::open_first(paths, {{"nvPTXCompilerGetVersion", reinterpret_cast<void**>(&library.version)},
                                        {"nvPTXCompilerCreate", reinterpret_cast<void**>(&library.create)},
                                        {"nvPTXCompilerDestroy", reinterpret_cast<void**>(&library.destroy)},
                                        {"nvPTXCompilerCompile", reinterpret_cast<void**>(&library.compile)},
                                        {"nvPTXCompilerGetCompiledProgramSize", reinterpret_cast<void**>(&library.cubin_size)},
                                        {"nvPTXCompilerGetCompiledProgram", reinterpret_cast<void**>(&library.cubin)},
                                        {"nvPTXCompilerGetErrorLogSize", reinterpret_cast<void**>(&library.error_log_size)},
                                        {"nvPTXCompilerGetErrorLog", reinterpret_cast<void**>(&library.error_log)},
                                        {"nvPTXCompilerGetInfoLogSize", reinterpret_cast<void**>(&library.info_log_size)},
                                        {"nvPTXCompilerGetInfoLog", reinterpret_cast<void**>(&library.info_log)}});
  if (opened.ok()) return std::unique_ptr<PtxAssembler>(new NvPtxCompiler(library, opened->file()));
  return error(Code::unavailable,
               "opening nvPTXCompiler, to assemble PTX: {}; Mneme has it where the CUDA toolkit that it was built with has "
               "libnvptxcompiler_static.a: set MNEME_PTX_ASSEMBLER to nvjitlink, ptxas or driver",
               opened.status().message());
}

}  // namespace mneme::nvptx
