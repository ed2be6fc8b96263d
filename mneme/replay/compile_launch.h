// Compiles recorded launches under configurations: as a part of a replay, and without one, where no device is needed.
#pragma once

#include <memory>
#include <string>

#include "mneme/base/disk_cache.h"
#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/recorded_code.h"
#include "mneme/replay/result.h"

namespace mneme {

// What code is made for.
struct CodeFor {
  DeviceKind kind = DeviceKind::cuda;
  std::string architecture;  // "sm_90", "gfx942"
};

// What code of a kernel is made for where no device is open: `architecture`, or where that is empty the one that the kernel was
// recorded with. unsupported: it is none of any kind that code can be compiled for; the message lists what their names begin
// with.
Result<CodeFor> code_without_device(const KernelRecord& kernel, const std::string& architecture);

// Compiles the launch under the configuration: the recorded IR or that of the configuration's file, or the program's own code,
// where that is what the configuration runs. Puts into the result which facts the code was specialised with. Failures: those of
// compile_request(), of KernelSources::find(), of translate_program_code(), and the compiler's.
Result<CompiledCode> compile_launch(RecordedCode& code, const RecordedLaunch& launch, const Configuration& configuration,
                                    const CodeFor& made_for, Compiler& compiler, ReplayResult& result);
// Whether the kernel's code can be run under the configuration with this shape. unsupported, invalid_argument: it cannot.
Status check_launch_code(const RecordedCode& code, const KernelRecord& kernel, const Configuration& configuration,
                         const LaunchShape& shape, DeviceKind kind);

// CompileOnly: one recorded launch, compiled under any number of configurations, and never run. Its results have what is known of
// code without a device: size, instructions, registers, what is spilled. Used by one thread at a time.
class CompileOnly {
 public:
  // Failures: those of Database::load_kernel() and load_instance(), RecordedCode::load(), code_without_device(), and
  // Compiler::create(); unsupported: the kernel was recorded without IR, and devices of the kind do not run its own code.
  static Result<std::unique_ptr<CompileOnly>> prepare(const Database& database, const Digest& static_hash,
                                                      const Digest& dynamic_hash, const std::string& architecture = {});

  // From now on compiled code is looked for in `cache` first, and kept there. Called at most once.
  void use_cache(std::shared_ptr<DiskCache> cache);

  // Never fails as a call: what went wrong is in the result. Where nothing did, its stage is `compiled`; it is neither executed
  // nor verified.
  ReplayResult compile(const Configuration& configuration);

  const InstanceRecord& instance() const { return instance_; }
  const CodeFor& made_for() const { return made_for_; }

 private:
  explicit CompileOnly(RecordedCode code) : code_(std::move(code)) {}

  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  RecordedCode code_;
  CodeFor made_for_;
  std::unique_ptr<Compiler> compiler_;
};

// What a result says of code that was made for `made_for` and not run.
ReplayResult compiled_only(const CodeFor& made_for, const CompiledCode& code, ReplayResult result = {});

}  // namespace mneme
