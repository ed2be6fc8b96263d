// CompilerBackend: how code for a kind of device is made.
//
// A kind that code can be compiled for joins by one row of the table in backends.cc, beside its row in the table of devices
// (mneme/device/backend.h). Both are found by the kind, so that the room `device` knows nothing of LLVM. The fake device has no
// row: its kernels are functions of the host.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

struct CompilerBackend {
  DeviceKind kind = DeviceKind::fake;
  // What the names of the kind's architectures begin with: "sm_".
  std::string_view architecture_prefix = {};
  // The architecture that code is made for where no device is open, of a kernel that was recorded for `recorded`.
  std::string (*architecture)(const std::string& recorded) = nullptr;
  // A compiler for an architecture; no device is needed.
  Result<std::unique_ptr<Compiler>> (*create)(const std::string& architecture) = nullptr;
  // unsupported, naming the knob: an option that no device of the kind has a use for.
  Status (*check_options)(const CompileOptions& options) = nullptr;
  // Whether a device of `architecture` runs code for `target`.
  bool (*runs_on)(std::string_view target, std::string_view architecture) = nullptr;
};

// The table.
std::span<const CompilerBackend> compiler_backends();
// The row of a kind; null where no code can be compiled for it.
const CompilerBackend* find_compiler_backend(DeviceKind kind);

// The architecture that code for `kind` is made for where no device is open, of a kernel that was recorded for `recorded`.
std::string architecture_without_device(DeviceKind kind, const std::string& recorded);
// The kind that has an architecture of that name; the first of the table where none has.
DeviceKind kind_of_architecture(std::string_view architecture);

}  // namespace mneme
