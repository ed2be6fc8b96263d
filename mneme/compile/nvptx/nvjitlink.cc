#include "mneme/compile/nvptx/nvjitlink.h"

#include <array>

#include "mneme/base/shared_library.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/nvptx/library_assembler.h"

namespace mneme::nvptx {
namespace {

// From nvJitLink's documented interface, whose names without a version are the same since CUDA 12.0. Its header would tie the
// program to the version that it was built with.
constexpr int kInputPtx = 2;
constexpr std::array<const char*, 19> kResultNames = {"SUCCESS",
                                                      "ERROR_UNRECOGNIZED_OPTION",
                                                      "ERROR_MISSING_ARCH",
                                                      "ERROR_INVALID_INPUT",
                                                      "ERROR_PTX_COMPILE",
                                                      "ERROR_NVVM_COMPILE",
                                                      "ERROR_INTERNAL",
                                                      "ERROR_THREADPOOL",
                                                      "ERROR_UNRECOGNIZED_INPUT",
                                                      "ERROR_FINALIZE",
                                                      "ERROR_NULL_INPUT",
                                                      "ERROR_INCOMPATIBLE_OPTIONS",
                                                      "ERROR_INCORRECT_INPUT_TYPE",
                                                      "ERROR_ARCH_MISMATCH",
                                                      "ERROR_OUTDATED_LIBRARY",
                                                      "ERROR_MISSING_FATBIN",
                                                      "ERROR_UNRECOGNIZED_ARCH",
                                                      "ERROR_UNSUPPORTED_ARCH",
                                                      "ERROR_LTO_NOT_ENABLED"};

struct Library : LibraryAssembler::Functions {
  int (*create)(void**, uint32_t option_count, const char** options) = nullptr;
  int (*add_data)(void*, int kind, const void* data, size_t size, const char* name) = nullptr;
  int (*complete)(void*) = nullptr;
};

// The library's own options; what only ptxas has is handed on to it.
std::vector<std::string> link_arguments(const AssembleRequest& request) {
  // What comes from the library's own cache, kept where there is a driver, has no log: nothing would be known of the code.
  std::vector<std::string> arguments = {"-no-cache", "-arch=" + request.architecture, "-Xptxas=-v"};
  const AssemblerOptions& options = request.options;
  // The library's own -O knows 0 and 3 alone.
  arguments.push_back(options.level ? fmt::format("-Xptxas=-O{}", *options.level) : "-O3");
  if (request.lines == LineInfo::keep) arguments.push_back("-lineinfo");
  if (options.max_registers) arguments.push_back(fmt::format("-maxrregcount={}", *options.max_registers));
  for (const std::string& argument : cache_arguments(options)) arguments.push_back("-Xptxas=" + argument);
  arguments.insert(arguments.end(), options.options.begin(), options.options.end());
  return arguments;
}

class NvJitLink final : public LibraryAssembler {
 public:
  // Its version is not asked, which the first libraries do not tell.
  NvJitLink(const Library& library, const std::string& path)
      : LibraryAssembler(library, {"nvJitLink", "NVJITLINK_", kResultNames}),
        library_(library),
        identity_("nvjitlink " + describe_file(path)) {}
  std::string_view name() const override { return "nvjitlink"; }
  std::string identity() const override { return identity_; }

 private:
  std::vector<std::string> arguments(const AssembleRequest& request) const override { return link_arguments(request); }

  int run(Handle& handle, const std::string& ptx, std::span<const char*> options) const override {
    if (int result = library_.create(&handle, static_cast<uint32_t>(options.size()), options.data()); result != kSuccess)
      return result;
    // The size is taken with the terminator.
    if (int result = library_.add_data(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx"); result != kSuccess)
      return result;
    return library_.complete(handle);
  }

  const Library library_;
  const std::string identity_;
};

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_nvjitlink(const std::vector<std::string>& paths) {
  Library library;
  const auto opened =
      SharedLibrary::open_first(paths, {{"nvJitLinkCreate", reinterpret_cast<void**>(&library.create)},
                                        {"nvJitLinkDestroy", reinterpret_cast<void**>(&library.destroy)},
                                        {"nvJitLinkAddData", reinterpret_cast<void**>(&library.add_data)},
                                        {"nvJitLinkComplete", reinterpret_cast<void**>(&library.complete)},
                                        {"nvJitLinkGetLinkedCubinSize", reinterpret_cast<void**>(&library.cubin_size)},
                                        {"nvJitLinkGetLinkedCubin", reinterpret_cast<void**>(&library.cubin)},
                                        {"nvJitLinkGetErrorLogSize", reinterpret_cast<void**>(&library.error_log_size)},
                                        {"nvJitLinkGetErrorLog", reinterpret_cast<void**>(&library.error_log)},
                                        {"nvJitLinkGetInfoLogSize", reinterpret_cast<void**>(&library.info_log_size)},
                                        {"nvJitLinkGetInfoLog", reinterpret_cast<void**>(&library.info_log)}});
  if (opened.ok()) return std::unique_ptr<PtxAssembler>(new NvJitLink(library, opened->file()));
  return error(
      Code::unavailable,
      "opening nvJitLink, to assemble PTX: {}; install the CUDA toolkit's libnvJitLink, set CUDA_HOME to where it is, or set "
      "MNEME_PTX_ASSEMBLER to ptxas or driver",
      opened.status().message());
}

}  // namespace mneme::nvptx
