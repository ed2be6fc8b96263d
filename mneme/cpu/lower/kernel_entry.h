// What an image exports (mneme/cpu/run/image.h): an entry and a description for each kernel, and the table of globals.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

enum class RunMode { loop, fibers };

// How a kernel's arguments lie in the packed parameter buffer, by NVPTX's ABI: one after another, each aligned.
struct KernelParameter {
  uint64_t offset = 0;
  uint64_t size = 0;
  llvm::Type* by_value = nullptr;  // the struct, for an aggregate that the kernel gets a pointer to
};
std::vector<KernelParameter> kernel_parameters(const llvm::Function& kernel);

struct KernelEntry {
  std::string name;                // symbol of the kernel
  llvm::Function* body = nullptr;  // with the thread parameter
  RunMode mode = RunMode::loop;
  std::vector<KernelParameter> parameters;
  uint64_t static_shared_bytes = 0;
  uint64_t shared_alignment = 0;
  uint32_t max_threads = 0;
  llvm::Function* entry = nullptr;  // run_block or run_thread, made by make_entry
};

// Makes run_block (a loop over the threads of a block around the kernel's body) or run_thread for entry.mode.
void make_entry(KernelEntry& entry);

// Exports the description of a kernel. `stack_bytes` as in struct mneme_cpu_kernel.
void export_kernel(llvm::Module& module, const KernelEntry& entry, uint64_t stack_bytes);

// A variable of the table: `address` is its place, `initializer` a constant or null.
struct GlobalEntry {
  std::string name;
  llvm::Constant* address = nullptr;
  uint64_t size = 0;
  llvm::GlobalVariable* initializer = nullptr;
  bool bound = false;
};
void export_globals(llvm::Module& module, const std::vector<GlobalEntry>& globals);

}  // namespace mneme::cpu
