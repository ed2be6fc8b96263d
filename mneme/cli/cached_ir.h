// Gives kernels that were recorded as machine code the LLVM IR that a compiler's cache has of them, so that everything that Mneme
// does with IR works for them (docs/adr/0018-code-levels.md).
#pragma once

#include <optional>

#include "mneme/base/status.h"
#include "mneme/cli/compiler_caches.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme::cli {

struct CachedIr {
  KernelRecord kernel;  // as it is with the IR: its level, parameters and architecture
  ByteVector bitcode;
};

// Reads the IR that stands beside a cubin, and makes it what Mneme compiles. `kernel` is the kernel as it was recorded, whose
// cubin has the same bytes. not_found: there is no IR, or it has no such kernel. corrupt: it does not parse. incompatible: it is
// for another target, or its parameters do not lie where the recorded ones do, or it lacks a variable that was recorded.
Result<CachedIr> read_cached_ir(const KernelRecord& kernel, const Path& cubin);

// Looks for the IR of every kernel of the database that has none and was recorded with a cubin, and publishes what is found and
// fits. Returns of how many kernels. A kernel whose IR is not found, or is not usable, stays as it is: a debug message says the
// first, and a warning the second. Failures: those of Database::list() and Database::add_ir(). Damaged IR may crash LLVM.
Result<uint64_t> add_cached_ir(Database& database, CompilerCaches& caches);

// The same in a child process, which a crash of LLVM does not leave; then the result is a failure. The calling process must have
// one thread.
Result<uint64_t> add_cached_ir_guarded(const Path& database, const std::vector<Path>& folders);

}  // namespace mneme::cli
