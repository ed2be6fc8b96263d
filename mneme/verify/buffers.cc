#include "mneme/verify/buffers.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace mneme {
namespace {

struct Place {
  size_t region;
  uint64_t offset;
};

std::optional<Place> find_place(const MemoryPlan& plan, uint64_t address) {
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const Region& region = plan.regions[i].prologue;
    if (address >= region.address.address && address - region.address.address < region.size.count)
      return Place{i, address - region.address.address};
  }
  return std::nullopt;
}

void add_pointers(std::vector<Buffer>& buffers, unsigned index, const Parameter& parameter, const InstanceRecord& instance,
                  const MemoryPlan& plan) {
  const std::string name = parameter.name.empty() ? std::to_string(index) : parameter.name;
  for (uint64_t at = 0; at + sizeof(uint64_t) <= parameter.size; at += sizeof(uint64_t)) {
    if (parameter.offset + at + sizeof(uint64_t) > instance.parameters.size()) return;
    uint64_t pointer;
    std::memcpy(&pointer, instance.parameters.data() + parameter.offset + at, sizeof pointer);
    auto place = find_place(plan, pointer);
    if (!place) continue;
    const uint64_t size = plan.regions[place->region].prologue.size.count;
    const bool inside = parameter.kind == Parameter::Kind::aggregate ||
                        (parameter.kind == Parameter::Kind::opaque && parameter.size != sizeof(uint64_t));
    buffers.push_back({Buffer::Kind::argument, inside ? fmt::format("{}+{}", name, at) : name, index, place->region,
                       place->offset, Bytes(size - place->offset)});
  }
}

std::optional<Buffer> buffer_of(const Annotation& annotation, const MemoryPlan& plan) {
  auto place = find_place(plan, annotation.address.address);
  if (!place || annotation.size.count > plan.regions[place->region].prologue.size.count - place->offset) return std::nullopt;
  return Buffer{Buffer::Kind::annotation, annotation.tag, 0, place->region, place->offset, annotation.size};
}

template <class T>
std::optional<T> number(std::string_view text, int base) {
  T value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0x…+size", "0x…-0x…"; first and size.
std::optional<std::pair<uint64_t, uint64_t>> parse_range(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  size_t separator = text.find_first_of("+-");
  if (separator == std::string_view::npos) return std::nullopt;
  auto first = number<uint64_t>(text.substr(2, separator - 2), 16);
  std::string_view rest = text.substr(separator + 1);
  bool is_end = text[separator] == '-', is_hex = rest.starts_with("0x");
  if (is_end && !is_hex) return std::nullopt;
  auto last = number<uint64_t>(rest.substr(is_hex ? 2 : 0), is_hex ? 16 : 10);
  if (!first || !last || (is_end && *last < *first)) return std::nullopt;
  return std::pair(*first, is_end ? *last - *first : *last);
}

Status unknown(std::string_view name, const std::vector<Buffer>& buffers, const MemoryPlan& plan) {
  std::string all;
  for (const Buffer& buffer : buffers)
    all += fmt::format("\n  {}  {}, {}", describe(buffer), plan.regions[buffer.region].prologue.address + Bytes(buffer.offset),
                       buffer.size);
  return error(Code::not_found,
               "there is no buffer '{}' in the recorded launch; there are{}\nor name a range of recorded memory: 0xADDRESS+SIZE",
               name, all.empty() ? "\n  (none)" : all);
}

uint64_t part_of(ElementType type) {
  bool is_complex = type == ElementType::complex64 || type == ElementType::complex128;
  return is_complex ? size_of(type).count / 2 : size_of(type).count;
}

// Takes [offset, offset+size) of `region` out of `ranges`; what is left of one keeps whole elements.
void cut(std::vector<ToleratedRange>& ranges, size_t region, uint64_t offset, uint64_t size) {
  std::vector<ToleratedRange> left;
  for (const ToleratedRange& range : ranges) {
    uint64_t begin = range.offset, end = range.offset + range.size.count, element = size_of(range.tolerance.type).count;
    if (range.region != region || end <= offset || begin >= offset + size) {
      left.push_back(range);
      continue;
    }
    ToleratedRange before = range, after = range;
    before.size = Bytes(begin < offset ? (offset - begin) / element * element : 0);
    after.offset = begin + (std::max(offset + size, begin) - begin + element - 1) / element * element;
    after.size = Bytes(after.offset < end ? end - after.offset : 0);
    if (before.size.count != 0) left.push_back(before);
    if (after.size.count != 0) left.push_back(after);
  }
  ranges = std::move(left);
}

Status tolerate(std::vector<ToleratedRange>& ranges, const Buffer& buffer, const Tolerance& tolerance, const MemoryPlan& plan) {
  const uint64_t element = size_of(tolerance.type).count;
  const DevicePtr address = plan.regions[buffer.region].prologue.address + Bytes(buffer.offset);
  if (buffer.size.count < element || address.address % part_of(tolerance.type) != 0)
    return error(Code::invalid_argument, "the tolerance for {}: its {} B at {} hold no {}, which lies at a multiple of {} B",
                 describe(buffer), buffer.size.count, address, to_string(tolerance.type), part_of(tolerance.type));
  cut(ranges, buffer.region, buffer.offset, buffer.size.count);
  ranges.push_back({describe(buffer), buffer.region, buffer.offset, Bytes(buffer.size.count / element * element), tolerance});
  return {};
}

}  // namespace

std::string describe(const Region& region) {
  if (region.kind == Region::Kind::global) return "global " + region.name;
  return fmt::format("{} {}", to_string(region.kind), region.address);
}

std::string describe(const Buffer& buffer) {
  switch (buffer.kind) {
    case Buffer::Kind::argument: return fmt::format("argument '{}'", buffer.name);
    case Buffer::Kind::global: return "global " + buffer.name;
    case Buffer::Kind::annotation: return buffer.name.empty() ? "annotation" : "annotation " + buffer.name;
    case Buffer::Kind::range: break;
  }
  return "range " + buffer.name;
}

std::vector<Buffer> buffers_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan) {
  std::vector<Buffer> buffers;
  for (unsigned i = 0; i < kernel.parameters.size(); ++i) {
    Parameter::Kind kind = kernel.parameters[i].kind;
    if (kind == Parameter::Kind::pointer || kind == Parameter::Kind::aggregate || kind == Parameter::Kind::opaque)
      add_pointers(buffers, i, kernel.parameters[i], instance, plan);
  }
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const Region& region = plan.regions[i].prologue;
    if (region.kind == Region::Kind::global) buffers.push_back({Buffer::Kind::global, region.name, 0, i, 0, region.size});
  }
  for (const Annotation& annotation : instance.annotations) {
    if (annotation.tag.empty()) continue;
    if (auto buffer = buffer_of(annotation, plan)) buffers.push_back(std::move(*buffer));
  }
  return buffers;
}

std::string name_of(DevicePtr address, const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan) {
  const auto place = find_place(plan, address.address);
  if (!place) return {};
  const std::vector<Buffer> all = buffers_of(kernel, instance, plan);
  const Buffer* nearest = nullptr;
  for (const Buffer& buffer : all) {
    if (buffer.kind == Buffer::Kind::annotation || buffer.region != place->region || buffer.offset > place->offset) continue;
    // An argument before a global, then the nearest; of two that point to one place the last.
    const auto rank = [](const Buffer& b) { return std::pair(b.kind == Buffer::Kind::argument, b.offset); };
    if (!nearest || rank(*nearest) <= rank(buffer)) nearest = &buffer;
  }
  return nearest ? describe(*nearest) : std::string();
}

Result<std::vector<Buffer>> find_buffers(std::string_view name, const KernelRecord& kernel, const InstanceRecord& instance,
                                         const MemoryPlan& plan) {
  const std::vector<Buffer> all = buffers_of(kernel, instance, plan);
  for (Buffer::Kind kind : {Buffer::Kind::argument, Buffer::Kind::global, Buffer::Kind::annotation}) {
    std::vector<Buffer> found;
    for (const Buffer& buffer : all)
      if (buffer.kind == kind && buffer.name == name) found.push_back(buffer);
    if (!found.empty()) return found;
  }
  if (auto index = number<unsigned>(name, 10)) {
    for (const Buffer& buffer : all)
      if (buffer.kind == Buffer::Kind::argument && buffer.parameter == *index) return std::vector{buffer};
  }
  auto range = parse_range(name);
  if (!range) return unknown(name, all, plan);
  auto place = find_place(plan, range->first);
  const uint64_t left = place ? plan.regions[place->region].prologue.size.count - place->offset : 0;
  if (!place || range->second == 0 || range->second > left)
    return error(Code::invalid_argument, "the range '{}' lies in no recorded allocation or global{}", name,
                 place ? fmt::format(": {} has {} B from there", describe(plan.regions[place->region].prologue), left) : "");
  return std::vector{Buffer{Buffer::Kind::range, std::string(name), 0, place->region, place->offset, Bytes(range->second)}};
}

Result<std::vector<ToleratedRange>> resolve_tolerances(const std::vector<BufferTolerance>& tolerances, const KernelRecord& kernel,
                                                       const InstanceRecord& instance, const MemoryPlan& plan) {
  std::vector<ToleratedRange> ranges;
  for (const Annotation& annotation : instance.annotations) {
    auto buffer = buffer_of(annotation, plan);
    if (!buffer)
      return error(Code::corrupt, "the recorded annotation '{}' of {} at {} lies in no recorded allocation or global",
                   annotation.tag, annotation.size, annotation.address);
    MNEME_TRY(tolerate(ranges, *buffer, annotation.tolerance, plan));
  }
  for (const BufferTolerance& wanted : tolerances) {
    MNEME_TRY(check(wanted.tolerance).with_context(fmt::format("the tolerance for '{}'", wanted.buffer)));
    auto buffers = find_buffers(wanted.buffer, kernel, instance, plan);
    if (!buffers.ok()) return buffers.status().with_context(fmt::format("the tolerance '{}'", format_buffer_tolerance(wanted)));
    for (const Buffer& buffer : *buffers) MNEME_TRY(tolerate(ranges, buffer, wanted.tolerance, plan));
  }
  std::sort(ranges.begin(), ranges.end(), [](const ToleratedRange& a, const ToleratedRange& b) {
    return std::pair(a.region, a.offset) < std::pair(b.region, b.offset);
  });
  return ranges;
}

}  // namespace mneme
