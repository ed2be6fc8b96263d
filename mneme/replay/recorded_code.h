// RecordedCode: the code of a kernel, as a replay takes it: the IR that it compiles, or the program's own code where the kernel
// has no IR, or where as-built names that code.
#pragma once

#include <optional>

#include "mneme/base/status.h"
#include "mneme/compile/program_code.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/kernel_code.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme {

// With what the program had the driver assemble the PTX of the kernel that was launched.
DriverOptions driver_options(const InstanceRecord& instance);

// Used by one thread at a time.
class RecordedCode {
 public:
  // Failures: those of KernelCode::load() and Database::load_image().
  static Result<RecordedCode> load(const Database& database, const KernelRecord& kernel);

  // The IR; null where the kernel has none.
  KernelSources* sources() { return sources_ ? &*sources_ : nullptr; }
  const KernelSources* sources() const { return sources_ ? &*sources_ : nullptr; }
  // KernelSources::use_cache(), where the kernel has IR.
  void use_cache(const std::shared_ptr<DiskCache>& cache) {
    if (sources_) sources_->use_cache(cache);
  }
  // The program's own code, where that is what the configuration runs (names_program_code()); else null.
  const ProgramCode* program(const Configuration& configuration) const {
    return program_ && (!sources_ || configuration.passes == kAsBuilt) ? &*program_ : nullptr;
  }

 private:
  RecordedCode() = default;

  std::optional<KernelSources> sources_;
  std::optional<ProgramCode> program_;
};

}  // namespace mneme
