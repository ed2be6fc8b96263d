// CompilerCaches: what Triton and torch.compile keep of the kernels that they compile. Beside each cubin, under the same name,
// stand the kernel's LLVM IR (.llir), its PTX (.ptx) and what the compiler was asked for (.json).
//
//   CompilerCaches caches(compiler_cache_folders(::getenv));
//   for (const Path& cubin : caches.find(image)) …   // cubin, and cubin.replace_extension(".llir")
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme::cli {

// The value of a variable of the environment; null where it is not set.
using EnvironmentVariable = std::function<const char*(const char* name)>;

// Where the caches of a program with this environment are: $TRITON_CACHE_DIR or ~/.triton/cache, and the folder `triton` of
// $TORCHINDUCTOR_CACHE_DIR or /tmp/torchinductor_<user>. They need not exist.
std::vector<Path> compiler_cache_folders(const EnvironmentVariable& variable);

// Used by one thread.
class CompilerCaches {
 public:
  // Folders that do not exist or cannot be read count as empty.
  explicit CompilerCaches(std::vector<Path> folders) : folders_(std::move(folders)) {}

  // The cubins with the bytes of the image, in the order of the folders, by path. The folders are looked through once, when this
  // is first called, with the folders in them; only files of the right size are read.
  std::vector<Path> find(const CodeImageRecord& cubin);

 private:
  void look_through(const Path& folder);

  std::vector<Path> folders_;
  std::optional<std::map<uint64_t, std::vector<Path>>> cubins_;  // by size
};

}  // namespace mneme::cli
