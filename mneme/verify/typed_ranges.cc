#include "mneme/verify/typed_ranges.h"

#include <algorithm>

namespace mneme {
namespace {

uint64_t end_of(const TypedRange& range) { return range.offset + range.size.count; }

class Canvas {
 public:
  explicit Canvas(const MemoryPlan& plan) : plan_(plan) {}

  // Over what is there.
  void paint(TypedRange range) {
    if (range.size.count == 0) return;
    std::vector<TypedRange> left;
    for (TypedRange& old : ranges_) {
      if (old.region != range.region || end_of(old) <= range.offset || old.offset >= end_of(range)) {
        left.push_back(std::move(old));
        continue;
      }
      TypedRange before = old, after = old;
      before.size = Bytes(range.offset > old.offset ? range.offset - old.offset : 0);
      after.offset = end_of(range);
      after.size = Bytes(end_of(old) > after.offset ? end_of(old) - after.offset : 0);
      if (before.size.count != 0) left.push_back(std::move(before));
      if (after.size.count != 0) left.push_back(std::move(after));
    }
    left.push_back(std::move(range));
    ranges_ = std::move(left);
  }

  // A type that does not fit the place is none, and what is no whole element is a range of its own.
  std::vector<TypedRange> take() {
    std::vector<TypedRange> result;
    for (TypedRange& range : ranges_) {
      const uint64_t address = plan_.regions[range.region].prologue.address.address + range.offset;
      if (range.type && address % std::min<uint64_t>(size_of(*range.type).count, 8) != 0) range.type.reset();
      const uint64_t element = range.type ? size_of(*range.type).count : 1;
      TypedRange rest = range;
      range.size = Bytes(range.size.count / element * element);
      rest.offset = end_of(range);
      rest.size = Bytes(rest.size.count - range.size.count);
      rest.type.reset();
      if (range.size.count != 0) result.push_back(range);
      if (rest.size.count != 0) result.push_back(rest);
    }
    std::sort(result.begin(), result.end(), [](const TypedRange& a, const TypedRange& b) {
      return std::pair(a.region, a.offset) < std::pair(b.region, b.offset);
    });
    return result;
  }

 private:
  const MemoryPlan& plan_;
  std::vector<TypedRange> ranges_;
};

std::string range_text(const MemoryPlan& plan, size_t region, uint64_t offset, Bytes size) {
  return fmt::format("{}+{}", plan.regions[region].prologue.address + Bytes(offset), size.count);
}

}  // namespace

std::optional<ElementType> accessed_as(const Buffer& buffer, const KernelRecord& kernel, const ir::AccessTypes& accesses) {
  if (buffer.kind == Buffer::Kind::global) {
    auto type = accesses.globals.find(buffer.name);
    return type == accesses.globals.end() ? std::nullopt : std::optional(type->second);
  }
  bool pointer = kernel.parameters[buffer.parameter].kind == Parameter::Kind::pointer;
  return pointer && buffer.parameter < accesses.parameters.size() ? accesses.parameters[buffer.parameter] : std::nullopt;
}

Result<BufferType> parse_buffer_type(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return error(Code::invalid_argument, "reading the type '{}': it is written BUFFER:TYPE", text);
  auto type = parse_element_type(text.substr(std::min(text.find_first_not_of(' ', colon + 1), text.size())));
  if (!type.ok()) return type.status().with_context(fmt::format("reading the type '{}'", text));
  return BufferType{std::string(text.substr(0, colon)), *type};
}

Result<std::vector<TypedRange>> typed_ranges_of(const KernelRecord& kernel, const InstanceRecord& instance,
                                                const MemoryPlan& plan, const std::vector<ToleratedRange>& tolerances,
                                                const ir::AccessTypes& accesses, const std::vector<BufferType>& types) {
  Canvas canvas(plan);
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const Region& region = plan.regions[i].prologue;
    canvas.paint({describe(region), range_text(plan, i, 0, region.size), i, 0, region.size, std::nullopt});
  }
  std::vector<Buffer> buffers = buffers_of(kernel, instance, plan);
  // A pointer further inside of an allocation names what is behind it; globals are named as such where nothing points to them.
  std::stable_sort(buffers.begin(), buffers.end(), [](const Buffer& a, const Buffer& b) {
    return std::pair(a.kind != Buffer::Kind::global, a.offset) < std::pair(b.kind != Buffer::Kind::global, b.offset);
  });
  for (const Buffer& buffer : buffers) {
    if (buffer.kind != Buffer::Kind::argument && buffer.kind != Buffer::Kind::global) continue;
    canvas.paint(
        {describe(buffer), buffer.name, buffer.region, buffer.offset, buffer.size, accessed_as(buffer, kernel, accesses)});
  }
  for (const ToleratedRange& range : tolerances)
    canvas.paint({range.name, range_text(plan, range.region, range.offset, range.size), range.region, range.offset, range.size,
                  range.tolerance.type});
  for (const BufferType& typed : types) {
    MNEME_ASSIGN(std::vector<Buffer> found, find_buffers(typed.buffer, kernel, instance, plan));
    for (const Buffer& buffer : found)
      canvas.paint({describe(buffer), buffer.name, buffer.region, buffer.offset, buffer.size, typed.type});
  }
  return canvas.take();
}

}  // namespace mneme
