// Makes a host object of lowered IR.
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

// Turns a module for a device into one for the host: it gets the host's triple and data layout, and loses the attributes that
// tell how to generate device code. Multiplications and additions are contracted only if the options say so, so that every
// pipeline gives the same bytes here. Of the debug information the lines are kept. Returns the machine that makes the code.
// invalid_argument: the host's architecture has no such feature.
Result<std::unique_ptr<llvm::TargetMachine>> become_host_module(llvm::Module& module, const std::string& architecture,
                                                                const CodegenOptions& codegen);

// Whether this machine's processor can run the code. unsupported, by name: the options enable a feature that it lacks.
Status check_processor(const CodegenOptions& codegen);

// How many bytes of stack a thread needs at most from `entry` on, estimated from the variables and the number of instructions
// of the functions; 0 where there is no bound (recursion, calls through a pointer).
uint64_t stack_bytes(llvm::Function& entry);

// Generates code: an object or assembly, as `type` says. A plugin may write the file instead (PassPlugins::generate()).
Result<ByteVector> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                             const PassPlugins& plugins);

}  // namespace mneme::cpu
