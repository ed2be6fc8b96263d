#include "mneme/record/recordable_kernel.h"

#include <algorithm>
#include <cstring>

#include "mneme/base/symbol_name.h"

namespace mneme {
namespace {

Parameter::Kind kind_of(mneme_param_kind kind) {
  switch (kind) {
    case MNEME_PARAM_INTEGER: return Parameter::Kind::integer;
    case MNEME_PARAM_FLOAT: return Parameter::Kind::floating;
    case MNEME_PARAM_POINTER: return Parameter::Kind::pointer;
    case MNEME_PARAM_AGGREGATE: return Parameter::Kind::aggregate;
  }
  return Parameter::Kind::aggregate;
}

// A kernel that is linked from several segments is what all of them are.
Digest static_hash_of(const std::vector<const EmbeddedSegment*>& closure) {
  if (closure.size() == 1) return closure.front()->static_hash;
  Hasher hasher;
  hasher.add("mneme linked kernel 1");
  for (const EmbeddedSegment* segment : closure) hasher.add(std::as_bytes(std::span(segment->static_hash.bytes)));
  return hasher.finish();
}

void add_global(RecordableKernel& kernel, const SegmentGlobal& global) {
  auto found =
      std::find_if(kernel.globals.begin(), kernel.globals.end(), [&](const auto& g) { return g.image_name == global.name; });
  if (found == kernel.globals.end()) {
    kernel.globals.push_back({std::string(global.name), {std::string(global.ir_name)}});
    found = std::prev(kernel.globals.end());
  }
  GlobalInfo& info = found->info;
  info.size = std::max(info.size, global.size);
  info.alignment = std::max(info.alignment, global.alignment);
  info.constant_space |= global.constant_space();
  info.managed |= global.managed();
  info.escapes |= global.escapes();
}

// Linked into one module, static variables of equal names in files of equal names would become one.
Status check_names(const RecordableKernel& kernel) {
  for (auto one = kernel.globals.begin(); one != kernel.globals.end(); ++one) {
    auto same = [&](const auto& other) { return other.info.name == one->info.name; };
    if (std::find_if(one + 1, kernel.globals.end(), same) != kernel.globals.end())
      return error(Code::unsupported,
                   "two files of the same name have a static variable '{}' each, which its recorded IR cannot tell "
                   "apart; rename one of the files",
                   one->info.name);
  }
  return {};
}

Result<std::vector<const EmbeddedSegment*>> closure_of(const RegisteredKernel& registered) {
  MNEME_ASSIGN(const EmbeddedSegment* segment, registered.segment());
  MNEME_ASSIGN(const SegmentTable* table, registered.image->segments());
  return table->closure(*segment);
}

Status fill(RecordableKernel& kernel) {
  MNEME_ASSIGN(auto closure, closure_of(*kernel.registered));
  const EmbeddedSegment& segment = *closure.front();
  KernelRecord& record = kernel.record;
  record.static_hash = static_hash_of(closure);
  record.name = segment.ir_name;
  record.demangled = demangle(record.name);
  record.source = segment.source;
  record.target = segment.target == MNEME_TARGET_NVPTX ? "nvptx" : "amdgcn";
  record.arch = segment.arch;
  record.pipeline = segment.pipeline;
  for (const SegmentParameter& p : segment.parameters)
    record.parameters.push_back({kind_of(p.kind), std::string(p.name), std::string(p.type), p.offset, p.size, p.alignment});
  record.parameter_bytes = segment.parameter_bytes;
  kernel.padding = segment.padding;
  kernel.uses_textures = std::any_of(closure.begin(), closure.end(), [](const auto* part) { return part->uses_textures; });
  for (const EmbeddedSegment* part : closure)
    for (const SegmentGlobal& global : part->globals) add_global(kernel, global);
  for (const auto& global : kernel.globals) record.globals.push_back(global.info);
  return check_names(kernel);
}

}  // namespace

RecordableKernel describe_kernel(const void* function, std::shared_ptr<const RegisteredKernel> registered) {
  RecordableKernel kernel;
  kernel.function = function;
  kernel.registered = std::move(registered);
  kernel.status = fill(kernel);
  return kernel;
}

Result<ByteVector> kernel_bitcode(const RegisteredKernel& registered) {
  MNEME_ASSIGN(auto closure, closure_of(registered));
  ByteVector all;
  for (const EmbeddedSegment* segment : closure) {
    MNEME_ASSIGN(ByteVector bitcode, segment_bitcode(*segment));
    all.insert(all.end(), bitcode.begin(), bitcode.end());
  }
  return all;
}

ByteVector pack_arguments(const RecordableKernel& kernel, void* const* arguments) {
  ByteVector packed(kernel.record.parameter_bytes);
  for (size_t i = 0; i < kernel.record.parameters.size(); ++i) {
    const Parameter& parameter = kernel.record.parameters[i];
    std::memcpy(packed.data() + parameter.offset, arguments[i], parameter.size);
  }
  for (const SegmentRange& range : kernel.padding) std::memset(packed.data() + range.offset, 0, range.size);
  return packed;
}

}  // namespace mneme
