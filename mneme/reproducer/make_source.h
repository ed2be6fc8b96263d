// Making sources: one recorded launch as a folder that a compiler's engineer reads and changes. It has a program of a page that
// needs the GPU's driver and the C++ library, the kernel's code at each stage, its memory as plain files, and a Makefile with the
// compiler's own commands.
#pragma once

#include <functional>
#include <string>

#include "mneme/base/output_folder.h"
#include "mneme/base/status.h"
#include "mneme/compile/tool_commands.h"
#include "mneme/device/device.h"
#include "mneme/replay/configuration.h"
#include "mneme/reproducer/make_program.h"
#include "mneme/store/database.h"

namespace mneme {

struct SourceRequest {
  const Database& database;
  Digest static_hash, dynamic_hash;
  Configuration configuration;
  ProgramMemory memory = ProgramMemory::touched;
  Path output;  // the folder, which must not be there
};

struct MadeSource {
  std::string architecture;
  Bytes memory, left_out;
  std::string kept;                                // why nothing was left out; empty: memory was looked through
  Bytes masked;                                    // that hold wrong values before the launch
  std::string unmasked;                            // why none do
  std::optional<ToolCommands::Fidelity> fidelity;  // nothing: the kernel was recorded without IR
  std::string translated, code;  // the files that the assembler or the linker takes, and makes: "kernel.ptx", "kernel.cubin"
  bool has_code = true;          // the second is there; it takes an assembler
  std::optional<bool> verified;  // of a replay; nothing: the device runs no such code
};

// Compiles for the device, or, if that is none of the recorded vendor's, for the architecture that the kernel was recorded with.
// The device is also what finds out which memory the kernel touches; the CPU device does as well. `progress` is called with what
// is done next.
//
// Failures: those of compiling and of a launch that cannot be run, of the database and of OutputFolder; unsupported: the kernel
// is not for GPUs, the launch has textures or surfaces, or the configuration has pass plugins.
Result<MadeSource> make_source(const SourceRequest& request, Device& device,
                               const std::function<void(const std::string&)>& progress = {});

}  // namespace mneme
