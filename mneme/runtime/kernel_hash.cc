#include "mneme/runtime/kernel_hash.h"

namespace mneme {

Result<std::vector<const EmbeddedSegment*>> closure_of(const RegisteredKernel& kernel) {
  MNEME_ASSIGN(const EmbeddedSegment* segment, kernel.segment());
  MNEME_ASSIGN(const SegmentTable* table, kernel.image->segments());
  return table->closure(*segment);
}

Digest static_hash_of(const std::vector<const EmbeddedSegment*>& closure) {
  if (closure.size() == 1) return closure.front()->static_hash;
  Hasher hasher;
  hasher.add("mneme linked kernel 1");
  for (const EmbeddedSegment* segment : closure) hasher.add(std::as_bytes(std::span(segment->static_hash.bytes)));
  return hasher.finish();
}

Digest static_hash_of_ptx(const std::string& kernel, ByteSpan ptx) {
  Hasher hasher;
  hasher.add(std::string_view("mneme ptx kernel 1")).add(std::string_view(kernel)).add(ptx);
  return hasher.finish();
}

Result<Digest> static_hash_of(const RegisteredKernel& kernel) {
  auto closure = closure_of(kernel);
  if (closure.ok()) return static_hash_of(*closure);
  if (closure.status().code() != Code::not_found || kernel.image->wrapper() != nullptr) return closure.status();
  MNEME_ASSIGN(const DeviceCode* code, kernel.image->code());
  if (code->cubin.empty()) return static_hash_of_ptx(kernel.name, code->ptx);
  MNEME_ASSIGN(const CubinKernel found,
               read_cubin_kernel(code->cubin, kernel.name, fmt::format("loaded image {}", kernel.image->id())));
  return found.digest;
}

}  // namespace mneme
