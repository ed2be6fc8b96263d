// Compares the memory that a launch has left with what was recorded after it, piece by piece, and prints what differs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "element_math.h"

namespace compare {

namespace element = mneme::element;

#define COMPARE_NAME(name, format) name,
enum Type { MNEME_ELEMENT_FORMATS(COMPARE_NAME) bytes };
#undef COMPARE_NAME

// How far elements may be from the recorded ones: element::Error, element::Sum and element::Nan. Without one all bytes are equal.
struct Tolerance {
  double threshold;
  int error, norm, nan;
};

// A part of a span of memory that has a name and one type of elements.
struct Piece {
  const char* name;
  size_t span;
  uint64_t offset, size;  // in the span, in bytes
  Type type;
  const Tolerance* tolerance;  // null: there is none
};

template <class Format>
std::string part_text(const unsigned char* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, Format::kBits / 8);
  char text[40];
  if constexpr (Format::kIsFloating)
    std::snprintf(text, sizeof text, Format::kBits == 64 ? "%.17g" : "%.9g", Format::value(bits));
  else if constexpr (Format::kBias != 0)
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(bits << (64 - Format::kBits)) >> (64 - Format::kBits));
  else
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(bits));
  return text;
}

template <class Format>
std::string element_text(const unsigned char* at) {
  if constexpr (Format::kParts == 1)
    return part_text<Format>(at);
  else
    return "(" + part_text<Format>(at) + ", " + part_text<Format>(at + Format::kBits / 8) + ")";
}

template <class Format>
element::Tally tally_of(const Piece& piece, const unsigned char* actual, const unsigned char* recorded,
                        const element::Measure& measure) {
  constexpr size_t kPart = Format::kBits / 8, kSize = kPart * Format::kParts;
  element::Tally tally;
  for (uint64_t at = 0; at < piece.size; at += kSize) {
    if (element::equal_is_enough(measure) && std::memcmp(actual + at, recorded + at, kSize) == 0) continue;
    element::u64 a[2] = {}, r[2] = {};
    for (int part = 0; part < Format::kParts; ++part) {
      std::memcpy(&a[part], actual + at + part * kPart, kPart);
      std::memcpy(&r[part], recorded + at + part * kPart, kPart);
    }
    element::see<Format>(tally, a, r, at / kSize, measure);
  }
  return tally;
}

inline double norm_of(double sum, double largest, double scale, int kind) {
  if (kind == element::kLinf) return largest;
  return (kind == element::kL2 ? std::sqrt(sum) : sum) / scale;
}

// The power of two that brings `largest` near to 1, so that no sum of such values is too large for a double.
inline double scale_for(double largest) {
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, -std::max(-1000, std::min(1000, std::ilogb(largest)))) : 1;
}

template <class Format>
bool within(const Piece& piece, const unsigned char* actual, const unsigned char* recorded) {
  const Tolerance& tolerance = *piece.tolerance;
  element::Measure measure{tolerance.threshold, 1, 1, tolerance.error, tolerance.norm, tolerance.nan};
  element::Tally tally = tally_of<Format>(piece, actual, recorded, measure);
  if (tally.failing != 0 || tolerance.norm == element::kNoSum) return tally.failing == 0;
  measure.difference_scale = scale_for(tally.largest_difference);
  measure.magnitude_scale = scale_for(tally.largest_magnitude);
  tally = tally_of<Format>(piece, actual, recorded, measure);
  const double difference = norm_of(tally.differences, tally.largest_difference, measure.difference_scale, tolerance.norm);
  const double magnitude = norm_of(tally.magnitudes, tally.largest_magnitude, measure.magnitude_scale, tolerance.norm);
  const double limit = tolerance.threshold * (tolerance.error == element::kRelative ? magnitude : 1);
  return std::isfinite(difference) && std::isfinite(magnitude) && difference <= limit;
}

// Whether the piece is right. If not, it prints how many elements differ, and the first of them.
template <class Format>
bool see(const Piece& piece, const unsigned char* actual, const unsigned char* recorded, const char* type) {
  if (piece.tolerance != nullptr && within<Format>(piece, actual, recorded)) return true;
  if (piece.tolerance == nullptr && std::memcmp(actual, recorded, piece.size) == 0) return true;
  constexpr size_t kSize = Format::kBits / 8 * Format::kParts;
  constexpr int kShown = 4;
  uint64_t differing = 0;
  std::string first;
  for (uint64_t at = 0; at < piece.size; at += kSize) {
    if (std::memcmp(actual + at, recorded + at, kSize) == 0 || ++differing > kShown) continue;
    first += "    element " + std::to_string(at / kSize) + ": " + element_text<Format>(recorded + at) + " was recorded, and " +
             element_text<Format>(actual + at) + " is there\n";
  }
  std::printf("  %s: %llu of %llu %s differ%s\n%s", piece.name, static_cast<unsigned long long>(differing),
              static_cast<unsigned long long>(piece.size / kSize), type,
              piece.tolerance != nullptr ? ", and not all within the tolerance" : "", first.c_str());
  return false;
}

inline bool see(const Piece& piece, const unsigned char* actual, const unsigned char* recorded) {
  switch (piece.type) {
#define COMPARE_SEE(name, format) \
  case name: return see<element::format>(piece, actual, recorded, #name " elements");
    MNEME_ELEMENT_FORMATS(COMPARE_SEE)
#undef COMPARE_SEE
    case bytes: break;
  }
  return see<element::U8>(piece, actual, recorded, "bytes");
}

// Compares a whole span. `pieces` are those of all spans, sorted; what lies between them must be equal, too, since a kernel can
// write there without a fault.
inline bool span_is_right(size_t span, const std::vector<Piece>& pieces, const std::vector<unsigned char>& actual,
                          const std::vector<unsigned char>& recorded) {
  if (actual.empty()) return true;
  bool right = true;
  uint64_t at = 0;
  const auto see_between = [&](uint64_t end) {
    if (end > at && !see({"memory outside of every allocation", span, at, end - at, bytes, nullptr}, &actual[at], &recorded[at]))
      right = false;
  };
  for (const Piece& piece : pieces) {
    if (piece.span != span) continue;
    see_between(piece.offset);
    if (!see(piece, &actual[piece.offset], &recorded[piece.offset])) right = false;
    at = piece.offset + piece.size;
  }
  see_between(actual.size());
  return right;
}

}  // namespace compare
