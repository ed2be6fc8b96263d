// Reads what a code object says of itself: the note NT_AMDGPU_METADATA, which is MessagePack, and the descriptors of kernels,
// from which the hardware is set up ("User Guide for AMDGPU Backend", "Code Object Metadata", "Kernel Descriptor").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/machine_instructions.h"

namespace mneme::amdgpu {

struct KernelEntry {
  std::string name;
  uint32_t vector_registers = 0;        // of a work-item; with the accumulation registers where they are of the same file
  uint32_t accumulation_registers = 0;  // of a work-item
  uint32_t scalar_registers = 0;        // of a wavefront
  uint32_t vector_spills = 0, scalar_spills = 0;
  Bytes scratch;           // of a work-item; more where `dynamic_stack`
  Bytes shared;            // LDS of a work-group, without what a launch adds
  Bytes kernel_arguments;  // with the implicit ones
  uint32_t wavefront = 64;
  uint32_t max_threads = 0;  // of a work-group
  bool dynamic_stack = false;
};

struct CodeObject {
  std::string target;  // target ID: "gfx90a:xnack+"
  std::vector<KernelEntry> kernels;
  const KernelEntry* find(const std::string& kernel) const;  // null: it has no such kernel
};

// corrupt, with what is wrong: the bytes are no code object, lack the note or a descriptor that it names, or note and descriptor
// contradict each other.
Result<CodeObject> read_code_object(ByteSpan bytes);

// Whose instructions its code has. All kernels of an object that Mneme or clang makes have wavefronts of one size. Failures:
// those of parse_target_id().
Result<InstructionSet> instruction_set(const CodeObject& object);

}  // namespace mneme::amdgpu
