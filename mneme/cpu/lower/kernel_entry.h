// Makes what an image exports (mneme/cpu/run/image.h): the description of each kernel, with its entry, and the table of
// globals.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

// How the threads of a block run: enum mneme_cpu_mode.
enum class RunMode { loop, fibers };

// Where a parameter lies in the packed parameter buffer. By the ABIs of NVPTX and AMDGCN they lie one after another, each
// aligned.
struct KernelParameter {
  uint64_t offset = 0;
  uint64_t size = 0;
  llvm::Type* by_value = nullptr;  // of a struct to which the kernel gets a pointer: its type; else null
};
std::vector<KernelParameter> kernel_parameters(const llvm::Function& kernel);

struct KernelEntry {
  std::string name;                // symbol of the kernel
  llvm::Function* body = nullptr;  // the kernel, with the thread parameter
  RunMode mode = RunMode::loop;
  std::vector<KernelParameter> parameters;
  uint64_t static_shared_bytes = 0;
  uint64_t shared_alignment = 0;
  uint32_t max_threads = 0;  // launch bound; 0: none
  uint32_t warp_size = 32;
  llvm::Function* entry = nullptr;  // run_block or run_thread, made by make_entry
};

// Makes entry.entry, as entry.mode says: run_block, which is a loop over the threads of a block around the kernel's body, or
// run_thread.
void make_entry(KernelEntry& entry);

// Exports the description of a kernel. `stack_bytes` is mneme_cpu_kernel::stack_bytes.
void export_kernel(llvm::Module& module, const KernelEntry& entry, uint64_t stack_bytes);

// A variable of the table.
struct GlobalEntry {
  std::string name;
  llvm::Constant* address = nullptr;            // where code reads and writes it
  uint64_t size = 0;                            // in bytes
  llvm::GlobalVariable* initializer = nullptr;  // a constant with its first value; null: zeros, or the image's own variable
  bool bound = false;                           // to an address outside of the image
};
void export_globals(llvm::Module& module, const std::vector<GlobalEntry>& globals);

}  // namespace mneme::cpu
