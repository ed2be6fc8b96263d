#include "mneme/device/element_error.h"

#include <array>
#include <cmath>
#include <cstring>

#include "mneme/device/element_math.h"

namespace mneme {
namespace {

template <class Format>
void load(ByteSpan element, element::u64 (&parts)[2]) {
  constexpr size_t kPart = Format::kBits / 8;
  for (int part = 0; part < Format::kParts; ++part) std::memcpy(&parts[part], &element[part * kPart], kPart);
}

template <class Format>
ElementError error_as(ByteSpan actual, ByteSpan recorded) {
  element::u64 a[2] = {}, r[2] = {};
  load<Format>(actual, a);
  load<Format>(recorded, r);
  auto by = [&](int kind) {
    element::Measure measure{0, 1, 1, kind, element::kNoSum, element::kNanRecorded};
    return element::error_of(element::gap_of<Format>(a, r, measure), kind);
  };
  element::Measure measure{0, 1, 1, element::kAbsolute, element::kNoSum, element::kNanRecorded};
  return {by(element::kAbsolute), by(element::kRelative), by(element::kUlp), element::gap_of<Format>(a, r, measure).unfit};
}

// The fewest digits that tell this format's neighbouring values apart are those of its own width.
template <class Format>
std::string format_part(element::u64 bits) {
  if constexpr (Format::kIsFloating) {
    const element::u64 magnitude = bits & ~Format::kSign;
    const bool negative = (bits & Format::kSign) != 0;
    if (magnitude >= Format::kFirstNan) return "nan";
    if (magnitude >= Format::kSpecial) return negative ? "-inf" : "inf";
    const double value = Format::value(bits);
    if (Format::kBits == 64) return fmt::format("{}", value);
    if (Format::kBits == 32) return fmt::format("{}", static_cast<float>(value));
    return fmt::format("{:.5g}", value);
  } else if constexpr (Format::kBias != 0) {
    const auto shift = 64 - Format::kBits;
    return fmt::format("{}", static_cast<int64_t>(bits << shift) >> shift);
  } else {
    return fmt::format("{}", bits);
  }
}

template <class Format>
std::string format_as(ByteSpan element) {
  element::u64 parts[2] = {};
  load<Format>(element, parts);
  if constexpr (Format::kParts == 1)
    return format_part<Format>(parts[0]);
  else
    return fmt::format("({}, {})", format_part<Format>(parts[0]), format_part<Format>(parts[1]));
}

#define MNEME_ERROR(name, format) &error_as<element::format>,
constexpr auto kErrors = std::to_array({MNEME_ELEMENT_FORMATS(MNEME_ERROR)});
#undef MNEME_ERROR
#define MNEME_FORMAT(name, format) &format_as<element::format>,
constexpr auto kFormats = std::to_array({MNEME_ELEMENT_FORMATS(MNEME_FORMAT)});
#undef MNEME_FORMAT

}  // namespace

ElementError element_error(ElementType type, ByteSpan actual, ByteSpan recorded) {
  return kErrors[static_cast<size_t>(type)](actual, recorded);
}

std::string format_element(ElementType type, ByteSpan element) { return kFormats[static_cast<size_t>(type)](element); }

}  // namespace mneme
