#include "mneme/verify/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mneme/verify/mask_left.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

class Collector {
 public:
  explicit Collector(RangeDifference& out) : out_(out), size_(size_of(out.type).count) {}

  void see(const MemoryPiece& piece) {
    constexpr size_t kBlock = 4096;  // memcmp skips what is equal
    const MaskLeft left(piece);
    for (size_t begin = 0; begin < piece.actual.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, piece.actual.size());
      if (std::memcmp(&piece.actual[begin], &piece.recorded[begin], end - begin) == 0) continue;
      for (size_t at = begin; at < end; at += size_) {
        ByteSpan actual = piece.actual.subspan(at, size_), recorded = piece.recorded.subspan(at, size_);
        if (std::memcmp(actual.data(), recorded.data(), size_) == 0) continue;
        const uint64_t index = (piece.offset - out_.range.offset + at) / size_;
        ++out_.differing;
        if (left.all_of(at, at + size_))
          see_not_written(index);
        else
          see_wrong(index, actual, recorded);
      }
    }
  }

 private:
  void see_not_written(uint64_t index) {
    if (out_.not_written++ == 0) out_.first_not_written = index;
    out_.cells_not_written[index / out_.cell] = true;
  }

  void see_wrong(uint64_t index, ByteSpan actual, ByteSpan recorded) {
    const ElementError error = element_error(out_.type, actual, recorded);
    auto sample = [&] {
      return ElementSample{index, format_element(out_.type, recorded), format_element(out_.type, actual), error};
    };
    if (out_.wrong() == 1) out_.first = out_.worst_absolute = out_.worst_relative = out_.worst_ulp = sample();
    auto& cell = out_.cells[index / out_.cell];
    cell = std::max(cell, error.relative);
    if (error.unfit) {
      ++out_.unfit;
      return;
    }
    auto raise = [&](ElementSample& worst, double ElementError::* kind) {
      if (worst.error.unfit || error.*kind > worst.error.*kind) worst = sample();
    };
    raise(out_.worst_absolute, &ElementError::absolute);
    raise(out_.worst_relative, &ElementError::relative);
    raise(out_.worst_ulp, &ElementError::ulp);
    if (std::isinf(error.relative))
      ++out_.from_zero;
    else if (error.relative > 0)
      ++out_.decades[static_cast<int>(std::floor(std::log10(error.relative)))];
  }

  RangeDifference& out_;
  const uint64_t size_;
};

Json finite_or_text(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

Json to_json(const ElementSample& sample) {
  return {{"index", sample.index},
          {"recorded", sample.recorded},
          {"actual", sample.actual},
          {"absolute", finite_or_text(sample.error.absolute)},
          {"relative", finite_or_text(sample.error.relative)},
          {"ulp", finite_or_text(sample.error.ulp)}};
}

}  // namespace

Result<std::vector<RangeDifference>> find_differences(const RunMemory& memory, const std::vector<TypedRange>& ranges) {
  std::vector<RangeDifference> differences;
  for (const TypedRange& range : ranges) {
    MNEME_ASSIGN(Comparison bytes, memory.compare_bytes(range.region, range.offset, range.size));
    if (bytes.differing_bytes == 0) continue;
    RangeDifference& difference = differences.emplace_back();
    difference.range = range;
    difference.address = memory.address(range.region) + Bytes(range.offset);
    difference.type = range.type.value_or(ElementType::u8);
    difference.elements = range.size.count / size_of(difference.type).count;
    difference.cell = (difference.elements + kPictureCells - 1) / kPictureCells;
    difference.cells.resize((difference.elements + difference.cell - 1) / difference.cell);
    difference.cells_not_written.resize(difference.cells.size());
    Collector collector(difference);
    MNEME_TRY(memory.read(range.region, range.offset, range.size, [&](const MemoryPiece& piece) {
      collector.see(piece);
      return Status();
    }));
  }
  return differences;
}

std::string describe_not_written(const std::string& where, std::optional<ElementType> type, uint64_t elements,
                                 uint64_t not_written) {
  return fmt::format("{} of {} {} of {} {} not written", not_written, elements, type ? to_string(*type) : "bytes", where,
                     not_written == 1 ? "was" : "were");
}

Json to_json(const RangeDifference& d) {
  const auto sample = [&](const ElementSample& s) { return d.wrong() != 0 ? to_json(s) : Json(); };
  Json decades = Json::object();
  for (const auto& [decade, count] : d.decades) decades[fmt::format("1e{}", decade)] = count;
  return {{"where", d.range.where},
          {"address", fmt::format("{}", d.address)},
          {"size", d.range.size.count},
          {"type", d.range.type ? Json(to_string(d.type)) : Json()},
          {"elements", d.elements},
          {"differing", d.differing},
          {"not_written", d.not_written},
          {"first_not_written", d.first_not_written ? Json(*d.first_not_written) : Json()},
          {"unfit", d.unfit},
          {"from_zero", d.from_zero},
          {"first", sample(d.first)},
          {"worst_absolute", sample(d.worst_absolute)},
          {"worst_relative", sample(d.worst_relative)},
          {"worst_ulp", sample(d.worst_ulp)},
          {"relative_error_decades", decades}};
}

}  // namespace mneme
