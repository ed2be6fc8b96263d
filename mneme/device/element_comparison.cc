#include "mneme/device/element_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mneme {
namespace {

using element::Measure;
using element::Tally;

static_assert(static_cast<int>(ErrorKind::absolute) == element::kAbsolute && static_cast<int>(ErrorKind::ulp) == element::kUlp);
static_assert(static_cast<int>(Norm::none) == element::kNoSum && static_cast<int>(Norm::linf) == element::kLinf);
static_assert(static_cast<int>(NanPolicy::recorded) == element::kNanRecorded &&
              static_cast<int>(NanPolicy::none) == element::kNanNone);

template <class Format>
Tally tally_elements(ByteSpan actual, ByteSpan recorded, uint64_t index, const Measure& measure) {
  constexpr size_t kSize = Format::kBits * Format::kParts / 8, kPart = Format::kBits / 8;
  constexpr size_t kPiece = 4096;  // memcmp skips what is equal
  Tally tally;
  for (size_t begin = 0; begin < actual.size(); begin += kPiece) {
    const size_t end = std::min(begin + kPiece, actual.size());
    if (element::equal_is_enough(measure) && std::memcmp(&actual[begin], &recorded[begin], end - begin) == 0) continue;
    for (size_t at = begin; at < end; at += kSize) {
      element::u64 a[2] = {}, r[2] = {};
      for (int part = 0; part < Format::kParts; ++part) {
        std::memcpy(&a[part], &actual[at + part * kPart], kPart);
        std::memcpy(&r[part], &recorded[at + part * kPart], kPart);
      }
      element::see<Format>(tally, a, r, index + at / kSize, measure);
    }
  }
  return tally;
}

constexpr auto kTallies = [] {
#define MNEME_TALLY(name, format) &tally_elements<element::format>,
  return std::to_array({MNEME_ELEMENT_FORMATS(MNEME_TALLY)});
#undef MNEME_TALLY
}();
static_assert(kTallies.size() == static_cast<size_t>(ElementType::complex128) + 1);

// A double beyond this, or below its inverse, may have lost what it sums.
constexpr double kLargestSum = 1e290;

bool out_of_range(double sum, double largest) { return !(sum < kLargestSum) || (largest > 0 && sum < 1 / kLargestSum); }

// The power of two that brings `largest` near to 1.
double scale_for(double largest) {
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1;
}

// The norm in the range of long double, which holds what a rescaled sum stands for.
long double norm_of(double sum, double largest, double scale, int kind) {
  if (kind == element::kLinf) return largest;
  if (kind == element::kL2) return std::sqrt(static_cast<long double>(sum)) / scale;
  return static_cast<long double>(sum) / scale;
}

}  // namespace

Measure measure_of(const ElementComparison& how) {
  return {how.threshold, 1, 1, static_cast<int>(how.error), static_cast<int>(how.norm), static_cast<int>(how.nan)};
}

std::optional<Measure> rescaled(const Measure& measure, const Tally& tally) {
  if (measure.sum != element::kL1 && measure.sum != element::kL2) return std::nullopt;
  if (!out_of_range(tally.differences, tally.largest_difference) && !out_of_range(tally.magnitudes, tally.largest_magnitude))
    return std::nullopt;
  Measure again = measure;
  again.difference_scale = scale_for(tally.largest_difference);
  again.magnitude_scale = scale_for(tally.largest_magnitude);
  return again;
}

ElementDifferences judge(const ElementComparison& how, const Measure& measure, const Tally& tally, uint64_t elements) {
  ElementDifferences result;
  result.elements = elements;
  result.failing = tally.failing;
  if (tally.failing != 0) result.first_failing = tally.first_failing;
  result.worst = tally.worst;
  if (tally.worst > 0) result.worst_index = tally.worst_at;
  result.within = tally.failing == 0;
  if (how.norm == Norm::none) return result;
  long double difference = norm_of(tally.differences, tally.largest_difference, measure.difference_scale, measure.sum);
  long double recorded = norm_of(tally.magnitudes, tally.largest_magnitude, measure.magnitude_scale, measure.sum);
  long double limit = how.error == ErrorKind::relative ? how.threshold * recorded : how.threshold;
  // A norm that cannot be told is never right.
  result.within = result.within && std::isfinite(difference) && std::isfinite(recorded) && difference <= limit;
  result.difference_norm = static_cast<double>(difference);
  result.recorded_norm = static_cast<double>(recorded);
  return result;
}

Tally tally_host_elements(ElementType type, ByteSpan actual, ByteSpan recorded, uint64_t index, const Measure& measure) {
  return kTallies[static_cast<size_t>(type)](actual, recorded, index, measure);
}

ElementDifferences compare_host_elements(ByteSpan actual, ByteSpan recorded, const ElementComparison& how) {
  Measure measure = measure_of(how);
  Tally tally = tally_host_elements(how.type, actual, recorded, 0, measure);
  if (auto again = rescaled(measure, tally)) {
    measure = *again;
    tally = tally_host_elements(how.type, actual, recorded, 0, measure);
  }
  return judge(how, measure, tally, actual.size() / size_of(how.type).count);
}

}  // namespace mneme
