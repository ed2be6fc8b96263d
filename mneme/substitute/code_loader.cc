#include "mneme/substitute/code_loader.h"

#include "mneme/runtime/kernel_hash.h"

namespace mneme {

Result<std::vector<uint64_t>> sizes_in_segment(const RegisteredKernel& kernel) {
  MNEME_ASSIGN(const EmbeddedSegment* segment, kernel.segment());
  std::vector<uint64_t> sizes;
  for (const SegmentParameter& parameter : segment->parameters) sizes.push_back(parameter.size);
  return sizes;
}

Result<std::string> name_in_image(const RegisteredKernel& kernel, const std::string& name) {
  const auto segments = closure_of(kernel);
  // Of code without segments nothing but the image knows the variables.
  if (segments.status().code() == Code::not_found && kernel.image->wrapper() == nullptr) return name;
  MNEME_ASSIGN(const auto closure, segments);
  for (const EmbeddedSegment* segment : closure)
    for (const SegmentGlobal& global : segment->globals)
      if (global.ir_name == name) return std::string(global.name);
  return error(Code::not_found, "the program's kernel has no variable '{}'", name);
}

bool is_managed_pointer(const RegisteredKernel& kernel, const std::string& name) {
  const auto closure = closure_of(kernel);
  if (!closure.ok()) return false;
  for (const EmbeddedSegment* segment : *closure)
    for (const SegmentGlobal& global : segment->globals)
      if (global.ir_name == name) return global.managed() && segment->target == MNEME_TARGET_AMDGCN;
  return false;
}

Status check_table_size(uint64_t size, std::span<const uint64_t> addresses) {
  if (size == addresses.size_bytes()) return {};
  return error(Code::incompatible, "its table of variables has {} bytes, {} expected", size, addresses.size_bytes());
}

}  // namespace mneme
