#include "mneme/compile/nvptx/nvjitlink.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

namespace mneme::nvptx {
namespace {

// From nvJitLink's documented interface, whose names without a version are the same since CUDA 12.0. Its header would tie the
// program to the version that it was built with.
using Handle = void*;
constexpr int kSuccess = 0;
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

struct Library {
  int (*create)(Handle*, uint32_t option_count, const char** options) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add_data)(Handle, int kind, const void* data, size_t size, const char* name) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*error_log_size)(Handle, size_t*) = nullptr;
  int (*error_log)(Handle, char*) = nullptr;
};

Result<Library> open_library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, reason != nullptr ? reason : path);
  }
  Library library;
  struct {
    const char* name;
    void** function;
  } functions[] = {
      {"nvJitLinkCreate", reinterpret_cast<void**>(&library.create)},
      {"nvJitLinkDestroy", reinterpret_cast<void**>(&library.destroy)},
      {"nvJitLinkAddData", reinterpret_cast<void**>(&library.add_data)},
      {"nvJitLinkComplete", reinterpret_cast<void**>(&library.complete)},
      {"nvJitLinkGetLinkedCubinSize", reinterpret_cast<void**>(&library.cubin_size)},
      {"nvJitLinkGetLinkedCubin", reinterpret_cast<void**>(&library.cubin)},
      {"nvJitLinkGetErrorLogSize", reinterpret_cast<void**>(&library.error_log_size)},
      {"nvJitLinkGetErrorLog", reinterpret_cast<void**>(&library.error_log)},
  };
  for (auto [name, function] : functions) {
    *function = dlsym(handle, name);
    if (*function == nullptr) {
      dlclose(handle);
      return error(Code::unavailable, "{} has no function {}", path, name);
    }
  }
  return library;
}

class NvJitLink final : public PtxAssembler {
 public:
  explicit NvJitLink(const Library& library) : library_(library) {}
  std::string_view name() const override { return "nvjitlink"; }

  Result<ByteVector> assemble(const AssembleRequest& request) override {
    std::string architecture = "-arch=" + request.architecture;
    std::vector<const char*> options = {architecture.c_str(), "-O3"};
    if (request.lines == LineInfo::keep) options.push_back("-lineinfo");
    Handle handle = nullptr;
    int result = library_.create(&handle, static_cast<uint32_t>(options.size()), options.data());
    if (result != kSuccess) return failed(handle, result, request.architecture);
    ByteVector cubin;
    result = link(handle, request.ptx, cubin);
    if (result != kSuccess) return failed(handle, result, request.architecture);
    library_.destroy(&handle);
    return cubin;
  }

 private:
  int link(Handle handle, const std::string& ptx, ByteVector& cubin) {
    // The size is taken with the terminator.
    if (int result = library_.add_data(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx"); result != kSuccess)
      return result;
    if (int result = library_.complete(handle); result != kSuccess) return result;
    size_t size = 0;
    if (int result = library_.cubin_size(handle, &size); result != kSuccess) return result;
    cubin.resize(size);
    return library_.cubin(handle, cubin.data());
  }

  // Takes the log, then gives up the handle, which is null when even its creation failed.
  Status failed(Handle handle, int result, const std::string& architecture) {
    std::string log;
    size_t size = 0;
    if (handle != nullptr && library_.error_log_size(handle, &size) == kSuccess && size > 0) {
      log.resize(size);
      if (library_.error_log(handle, log.data()) != kSuccess) log.clear();
      log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
      while (!log.empty() && log.back() == '\n') log.pop_back();
    }
    if (handle != nullptr) library_.destroy(&handle);
    std::string name = static_cast<size_t>(result) < kResultNames.size() ? fmt::format("NVJITLINK_{}", kResultNames[result])
                                                                         : fmt::format("nvJitLink error {}", result);
    return error(Code::incompatible, "assembling PTX for {} by nvJitLink: {}{}{}", architecture, name, log.empty() ? "" : ": ",
                 log);
  }

  Library library_;
};

}  // namespace

Result<std::unique_ptr<PtxAssembler>> open_nvjitlink(const std::vector<std::string>& paths) {
  std::string reasons;
  for (const std::string& path : paths) {
    auto library = open_library(path);
    if (library.ok()) return std::unique_ptr<PtxAssembler>(new NvJitLink(*library));
    reasons += (reasons.empty() ? "" : "; ") + library.status().message();
  }
  return error(
      Code::unavailable,
      "opening nvJitLink, to assemble PTX: {}; install the CUDA toolkit's libnvJitLink, set CUDA_HOME to where it is, or set "
      "MNEME_PTX_ASSEMBLER to ptxas or driver",
      reasons.empty() ? "no place to look in" : reasons);
}

}  // namespace mneme::nvptx
