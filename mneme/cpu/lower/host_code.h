// From lowered IR to a host object: target, clean-up and code generation.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/codegen_options.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme::cpu {

// Turns a module of a device's target into one of the host: triple, layout, and what the device's attributes said of code
// generation. Multiplications and additions are contracted only where the options say so: every pipeline then gives the same
// bytes here. Of the debug information the lines are kept. invalid_argument: a feature that the host's architecture does not
// have.
Result<std::unique_ptr<llvm::TargetMachine>> become_host_module(llvm::Module& module, const std::string& architecture,
                                                                const CodegenOptions& codegen);

// unsupported where the options enable a feature that this machine's processor lacks, with its name.
Status check_processor(const CodegenOptions& codegen);

// The most that a thread's frames may take below `entry`, estimated from what the functions allocate and hold; 0 where it is not
// bounded (recursion, calls by pointer).
uint64_t stack_bytes(llvm::Function& entry);

// An object, or assembly, unless a plugin writes it.
Result<ByteVector> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                             const PassPlugins& plugins);

}  // namespace mneme::cpu
