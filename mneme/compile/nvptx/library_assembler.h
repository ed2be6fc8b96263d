// LibraryAssembler: one of NVIDIA's assemblers that are libraries, nvJitLink or nvPTXCompiler. Most of what they do they do by
// functions that differ in their names alone; how a piece of work begins is each one's own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

class LibraryAssembler : public PtxAssembler {
 public:
  using Handle = void*;  // a piece of the library's work
  static constexpr int kSuccess = 0;

  // What both libraries have. `destroy` takes any handle that is not null.
  struct Functions {
    int (*destroy)(Handle*) = nullptr;
    int (*cubin_size)(Handle, size_t*) = nullptr;
    int (*cubin)(Handle, void*) = nullptr;
    int (*error_log_size)(Handle, size_t*) = nullptr;
    int (*error_log)(Handle, char*) = nullptr;
    int (*info_log_size)(Handle, size_t*) = nullptr;
    int (*info_log)(Handle, char*) = nullptr;
  };
  // For messages.
  struct Words {
    const char* library;                   // "nvJitLink"
    const char* prefix;                    // of all names of results: "NVJITLINK_"
    std::span<const char* const> results;  // the rest of each name, by its number
  };

  Result<Assembled> assemble(const AssembleRequest& request) override;

 protected:
  LibraryAssembler(const Functions& functions, const Words& words) : functions_(functions), words_(words) {}

 private:
  // The library's options.
  virtual std::vector<std::string> arguments(const AssembleRequest& request) const = 0;
  // Has the library make the cubin, and returns the library's result. The handle stays null where the library makes none.
  virtual int run(Handle& handle, const std::string& ptx, std::span<const char*> options) const = 0;

  int take(Handle handle, ByteVector& cubin) const;
  Status failed(Handle handle, int result, const std::string& architecture) const;

  const Functions functions_;
  const Words words_;
};

}  // namespace mneme::nvptx
