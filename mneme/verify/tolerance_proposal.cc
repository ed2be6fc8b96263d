#include "mneme/verify/tolerance_proposal.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "mneme/device/element_error.h"

namespace mneme {
namespace {

constexpr double kOfTheValue = 0.01;
constexpr double kFewUlps = 1024;  // beyond these a relative error says more
constexpr uint64_t kLookedAt = 1 << 20;

// Up to two digits, and at least `value` also when read back.
double round_up(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  for (double digits = std::ceil(value / unit);; ++digits) {
    const double rounded = std::strtod(fmt::format("{:.1e}", digits * unit).c_str(), nullptr);
    if (rounded >= value) return rounded;
  }
}

// A unit in the last place, as a part of the value: at most this.
double unit_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::complex128: return 0x1p-52;
    case ElementType::f32:
    case ElementType::complex64: return 0x1p-23;
    case ElementType::f16: return 0x1p-10;
    case ElementType::bf16: return 0x1p-7;
    case ElementType::f8e4m3: return 0x1p-3;
    case ElementType::f8e5m2: return 0x1p-2;
    default: return 0;
  }
}

// The largest part of a value that can be rounding.
double largest_part(ElementType type, bool most_differ) {
  const double unit = unit_of(type);
  return std::max(most_differ ? std::min(kOfTheValue, kFewUlps * unit) : kOfTheValue, unit);
}

std::string share_of_value(const ErrorsSeen& errors, double typical) {
  if (std::isfinite(errors.relative)) return fmt::format("{:.3g} % of the recorded value", 100 * errors.relative);
  if (typical > 0) return fmt::format("{:.3g}, where recorded values are about {:.3g}", errors.absolute, typical);
  return fmt::format("{:.3g}, where zero was recorded", errors.absolute);
}

}  // namespace

ToleranceProposal propose_tolerance(ElementType type, NanPolicy nan, const ErrorsSeen& errors, double typical) {
  if (std::isinf(errors.ulp)) return {{}, "no tolerance accepts it: it has infinities that were not recorded, or lacks some"};
  const bool most_differ = 2 * errors.differing > errors.elements;
  const double part = largest_part(type, most_differ);
  const auto of = [&](ErrorKind kind, double threshold) {
    return ToleranceProposal{Tolerance{type, threshold, kind, Norm::none, nan}, {}};
  };
  if (is_integer(type)) {
    if (!most_differ && errors.absolute <= part * typical) return of(ErrorKind::absolute, errors.absolute);
  } else {
    // What is left out of a comparison as NaN is not rounded either.
    if (!(most_differ && nan == NanPolicy::any)) {
      if (errors.ulp <= kFewUlps && errors.ulp * unit_of(type) <= part) return of(ErrorKind::ulp, errors.ulp);
      if (errors.relative <= part) return of(ErrorKind::relative, round_up(errors.relative));
      // For values near zero among others: of the others it must be in the last places.
      if (errors.absolute <= largest_part(type, true) * typical) return of(ErrorKind::absolute, round_up(errors.absolute));
    }
  }
  return {{},
          fmt::format("no tolerance is proposed: {} of {} {} differ, by up to {}: this is not rounding", errors.differing,
                      errors.elements, to_string(type), share_of_value(errors, typical))};
}

Result<double> typical_magnitude(const RunMemory& memory, const TypedRange& range) {
  const uint64_t size = size_of(*range.type).count;
  const uint64_t step = size * std::max<uint64_t>(1, range.size.count / size / kLookedAt);
  const ByteVector zero(size);
  std::map<int, uint64_t> exponents;
  uint64_t count = 0;
  MNEME_TRY(memory.read(range.region, range.offset, range.size, [&](const MemoryPiece& piece) -> Status {
    for (uint64_t at = 0; at + size <= piece.recorded.size(); at += step) {
      const ElementError magnitude = element_error(*range.type, piece.recorded.subspan(at, size), zero);
      if (magnitude.unfit || magnitude.absolute == 0 || !std::isfinite(magnitude.absolute)) continue;
      ++exponents[std::ilogb(magnitude.absolute)];
      ++count;
    }
    return {};
  }));
  uint64_t above = 0;
  for (auto e = exponents.rbegin(); e != exponents.rend(); ++e)
    if (above += e->second; 2 * above >= count) return std::ldexp(1.0, e->first);
  return 0.0;
}

}  // namespace mneme
