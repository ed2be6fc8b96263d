// CompilerBackend: what compiling for a kind of device needs.
//
// A kind of device that code can be compiled for joins by one row of the table in backends.cc. It has another row in the table
// of devices (mneme/device/backend.h). There are two tables so that the room `device` knows nothing of LLVM. The fake device
// has no row here: its kernels are functions of the host.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/compile/code_comparison.h"
#include "mneme/compile/compiler.h"
#include "mneme/compile/deferred_compiler.h"
#include "mneme/compile/program_code.h"

namespace mneme {

struct CompilerBackend {
  DeviceKind kind = DeviceKind::fake;
  // What the names of the kind's architectures begin with: "sm_".
  std::string_view architecture_prefix = {};
  // The architecture to compile for where no device is open; `recorded` is the one that the kernel was recorded for.
  std::string (*architecture)(const std::string& recorded) = nullptr;
  // Makes a compiler for an architecture; no device is needed.
  Result<std::unique_ptr<Compiler>> (*create)(const std::string& architecture) = nullptr;
  // Plans what create() would make now, without LLVM. It fails as create() does where there is no assembler.
  Result<CompilerPlan> (*plan)(const std::string& architecture) = nullptr;
  // Refuses options that no device of the kind can use: unsupported, naming the knob.
  Status (*check_options)(const CompileOptions& options) = nullptr;
  // Whether a device of `architecture` runs code for `target`.
  bool (*runs_on)(std::string_view target, std::string_view architecture) = nullptr;
  // Do the work of translate_program_code(), required_block() and reach_by_table() for the kind (program_code.h); null, all,
  // where no device of the kind runs the program's own code.
  Result<Translation> (*take_program_code)(const ProgramCode& code, const AssemblerOptions& assembler,
                                           const DriverOptions& program, const std::string& architecture) = nullptr;
  std::optional<Dim3> (*required_block)(const ProgramCode& code) = nullptr;
  Result<std::string> (*reach_by_table)(std::string_view assembly, const std::vector<std::string>& names) = nullptr;
  // Does the work of compare_machine_code() for the kind (code_comparison.h); null where it has no code that could be compared.
  Result<CodeComparison> (*compare_machine_code)(ByteSpan program, ByteSpan made, const std::string& kernel) = nullptr;
};

// The table.
std::span<const CompilerBackend> compiler_backends();
// The row of a kind; null where no code can be compiled for it.
const CompilerBackend* find_compiler_backend(DeviceKind kind);

// What CompilerBackend::architecture says for `kind`; `recorded` for a kind without a row.
std::string architecture_without_device(DeviceKind kind, const std::string& recorded);
// The kind whose prefix the name of the architecture begins with. unsupported: none does; the message has all prefixes.
Result<DeviceKind> kind_of_architecture(std::string_view architecture);

}  // namespace mneme
