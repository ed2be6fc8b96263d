// The error of one element, and the sums over many. Kernels and the host compile the same lines, so that all devices agree on
// what is right. It includes no header of a standard library, since device code has none.
//
// A format (F32, Integer<8, true>, Complex<F64>) says how a type lies in memory; see_word and see_wide take elements of a
// format into a Tally.
//
// Device code defines MNEME_ELEMENT, which stands before every function, before it includes this file.
#pragma once

#ifndef MNEME_ELEMENT
#define MNEME_ELEMENT inline
#endif

namespace mneme::element {

typedef unsigned long long u64;

// As in base/element.h.
enum Error : int { kAbsolute, kRelative, kUlp };
enum Sum : int { kNoSum, kL1, kL2, kLinf };
enum Nan : int { kNanRecorded, kNanAny, kNanNone };

// What is measured of each element. Differences and magnitudes are multiplied by their scales, which are powers of two, before
// they are summed.
struct Measure {
  double threshold;
  double difference_scale, magnitude_scale;
  int error;  // an Error
  int sum;    // a Sum; but for kNoSum an element fails only where it has a NaN or infinity that does not fit
  int nan;    // a Nan
};

// What is known of the elements that were seen. merge() of two tallies is exact but for the rounding of sums, which depends on
// the order.
struct Tally {
  u64 failing = 0;
  u64 first_failing = ~0ull;               // index of an element
  double worst = 0;                        // the largest error of one element; infinite for a NaN or infinity that does not fit
  u64 worst_at = ~0ull;                    // index of the first element that has it, if it is not 0
  double differences = 0, magnitudes = 0;  // L1: sums; L2: of squares; Linf: maxima
  double largest_difference = 0, largest_magnitude = 0;
};

// Adds `other` to `into`. `sum` is the measure's.
MNEME_ELEMENT void merge(Tally& into, const Tally& other, int sum) {
  into.failing += other.failing;
  if (other.first_failing < into.first_failing) into.first_failing = other.first_failing;
  if (other.worst > into.worst || (other.worst == into.worst && other.worst_at < into.worst_at)) {
    into.worst = other.worst;
    into.worst_at = other.worst_at;
  }
  if (sum != kLinf) {
    into.differences += other.differences;
    into.magnitudes += other.magnitudes;
  }
  if (other.largest_difference > into.largest_difference) into.largest_difference = other.largest_difference;
  if (other.largest_magnitude > into.largest_magnitude) into.largest_magnitude = other.largest_magnitude;
}

MNEME_ELEMENT double infinity() { return __builtin_huge_val(); }

// A floating-point format of `kBits` with its sign in front. Magnitudes (bits without the sign) from kSpecial on are infinities
// and NaNs, from kFirstNan on NaNs.
template <int kBitsOf, u64 kSpecialFrom, u64 kNanFrom>
struct Floating {
  static constexpr bool kIsFloating = true;
  static constexpr int kBits = kBitsOf;
  static constexpr int kParts = 1;
  static constexpr u64 kSign = 1ull << (kBitsOf - 1);
  static constexpr u64 kSpecial = kSpecialFrom, kFirstNan = kNanFrom;
};
struct F64 : Floating<64, 0x7ff0000000000000ull, 0x7ff0000000000001ull> {
  MNEME_ELEMENT static double value(u64 bits) { return __builtin_bit_cast(double, bits); }
};
struct F32 : Floating<32, 0x7f800000, 0x7f800001> {
  MNEME_ELEMENT static double value(u64 bits) { return (double)__builtin_bit_cast(float, (unsigned)bits); }
};
// A value of a small format: its bits are moved to their place in a float, and an exact multiplication puts the exponent right.
MNEME_ELEMENT double small_value(u64 magnitude, bool negative, float power) {
  float value = __builtin_bit_cast(float, (unsigned)magnitude) * power;
  return (double)(negative ? -value : value);
}
struct F16 : Floating<16, 0x7c00, 0x7c01> {
  MNEME_ELEMENT static double value(u64 bits) { return small_value((bits & 0x7fff) << 13, bits & 0x8000, 0x1p112f); }
};
struct BF16 : Floating<16, 0x7f80, 0x7f81> {
  MNEME_ELEMENT static double value(u64 bits) { return F32::value(bits << 16); }
};
struct F8E5M2 : Floating<8, 0x7c, 0x7d> {
  MNEME_ELEMENT static double value(u64 bits) { return F16::value(bits << 8); }
};
struct F8E4M3 : Floating<8, 0x7f, 0x7f> {
  MNEME_ELEMENT static double value(u64 bits) { return small_value((bits & 0x7f) << 20, bits & 0x80, 0x1p120f); }
};

template <int kBitsOf, bool kIsSigned>
struct Integer {
  static constexpr bool kIsFloating = false;
  static constexpr int kBits = kBitsOf;
  static constexpr int kParts = 1;
  // Added to a number, it lets numbers be compared as unsigned ones.
  static constexpr u64 kBias = kIsSigned ? 1ull << (kBitsOf - 1) : 0;
  static constexpr u64 kMask = ~0ull >> (64 - kBitsOf);
};

template <class Part>
struct Complex : Part {
  static constexpr int kParts = 2;
};

using I8 = Integer<8, true>;
using I16 = Integer<16, true>;
using I32 = Integer<32, true>;
using I64 = Integer<64, true>;
using U8 = Integer<8, false>;
using U16 = Integer<16, false>;
using U32 = Integer<32, false>;
using U64 = Integer<64, false>;
using Complex64 = Complex<F32>;
using Complex128 = Complex<F64>;

// How far an element is from the recorded one.
struct Gap {
  double difference = 0;  // magnitude of the difference
  double magnitude = 0;   // of the recorded value
  double ulps = 0;
  bool unfit = false;  // there is a NaN or an infinity, and the two do not fit (special_fits)
};

template <class Format>
MNEME_ELEMENT bool is_nan(u64 bits) {
  if constexpr (Format::kIsFloating)
    return (bits & ~Format::kSign) >= Format::kFirstNan;
  else
    return false;
}

// Whether two elements fit of which at least one is an infinity or a NaN. Those that fit have no error and stay out of the
// sums.
template <class Format>
MNEME_ELEMENT bool special_fits(u64 actual, u64 recorded, int policy) {
  bool nan = is_nan<Format>(actual), recorded_nan = is_nan<Format>(recorded);
  if (nan || recorded_nan) return policy == kNanAny || (policy == kNanRecorded && nan && recorded_nan);
  return actual == recorded;
}

// The gap between two parts (a number; the real or the imaginary part of a complex number), whose values are multiplied by
// `unit`.
template <class Format>
MNEME_ELEMENT Gap part_gap(u64 actual, u64 recorded, const Measure& measure, double unit) {
  Gap gap;
  if constexpr (Format::kIsFloating) {
    u64 a = actual & ~Format::kSign, r = recorded & ~Format::kSign;
    if (a >= Format::kSpecial || r >= Format::kSpecial) {
      gap.unfit = !special_fits<Format>(actual, recorded, measure.nan);
      return gap;
    }
    double x = Format::value(actual) * unit, y = Format::value(recorded) * unit;
    gap.difference = __builtin_fabs(x - y);
    gap.magnitude = __builtin_fabs(y);
    if (measure.error == kUlp) {
      bool same_side = ((actual ^ recorded) & Format::kSign) == 0;
      gap.ulps = (double)(same_side ? (a > r ? a - r : r - a) : a + r);
    }
  } else {
    u64 a = (actual + Format::kBias) & Format::kMask, r = (recorded + Format::kBias) & Format::kMask;
    gap.difference = gap.ulps = (double)(a > r ? a - r : r - a);
    gap.magnitude = (double)(r > Format::kBias ? r - Format::kBias : Format::kBias - r);
  }
  return gap;
}

MNEME_ELEMENT double modulus(double x, double y) {
  double large = x > y ? x : y, small = x > y ? y : x;
  if (large == 0 || large == infinity()) return large;
  double ratio = small / large;
  return large * __builtin_sqrt(1 + ratio * ratio);
}

template <class Format>
MNEME_ELEMENT Gap gap_in_units(const u64 (&actual)[2], const u64 (&recorded)[2], const Measure& measure, double unit) {
  Gap gap = part_gap<Format>(actual[0], recorded[0], measure, unit);
  if constexpr (Format::kParts == 2) {
    Gap other = part_gap<Format>(actual[1], recorded[1], measure, unit);
    gap.difference = modulus(gap.difference, other.difference);
    gap.magnitude = modulus(gap.magnitude, other.magnitude);
    if (other.ulps > gap.ulps) gap.ulps = other.ulps;
    gap.unfit |= other.unfit;
  }
  return gap;
}

template <class Format>
MNEME_ELEMENT Gap gap_of(const u64 (&actual)[2], const u64 (&recorded)[2], const Measure& measure) {
  Gap gap = gap_in_units<Format>(actual, recorded, measure, 1);
  if constexpr (Format::kIsFloating && Format::kBits == 64) {
    // One of the two is too large for a double, but their ratio is not.
    bool too_large = gap.difference == infinity() || gap.magnitude == infinity();
    if (too_large && measure.error == kRelative && measure.sum == kNoSum)
      gap = gap_in_units<Format>(actual, recorded, measure, 0.25);
  }
  return gap;
}

// The error of an element, exactly as it is reported. `error` is an Error.
MNEME_ELEMENT double error_of(const Gap& gap, int error) {
  if (gap.unfit) return infinity();
  if (error == kUlp) return gap.ulps;
  if (error == kAbsolute || gap.difference == 0) return gap.difference;
  return gap.magnitude == 0 ? infinity() : gap.difference / gap.magnitude;
}

MNEME_ELEMENT void add_to_sums(Tally& tally, const Gap& gap, const Measure& measure) {
  if (gap.difference > tally.largest_difference) tally.largest_difference = gap.difference;
  if (gap.magnitude > tally.largest_magnitude) tally.largest_magnitude = gap.magnitude;
  double difference = gap.difference * measure.difference_scale, magnitude = gap.magnitude * measure.magnitude_scale;
  if (measure.sum == kL1) {
    tally.differences += difference;
    tally.magnitudes += magnitude;
  } else if (measure.sum == kL2) {
    tally.differences += difference * difference;
    tally.magnitudes += magnitude * magnitude;
  }
}

// Takes one element into the tally. Elements of one tally come in rising order of index.
template <class Format>
MNEME_ELEMENT void see(Tally& tally, const u64 (&actual)[2], const u64 (&recorded)[2], u64 index, const Measure& measure) {
  Gap gap = gap_of<Format>(actual, recorded, measure);
  double size = measure.error == kUlp ? gap.ulps : gap.difference;
  double unit = measure.error == kRelative ? gap.magnitude : 1;
  bool fails = gap.unfit || (measure.sum == kNoSum && size > 0 && !(size <= measure.threshold * unit));
  if (fails) {
    ++tally.failing;
    if (index < tally.first_failing) tally.first_failing = index;
  }
  if (gap.unfit || size > tally.worst * unit) {
    double error = error_of(gap, measure.error);
    if (error > tally.worst) {
      tally.worst = error;
      tally.worst_at = index;
    }
  }
  if (measure.sum != kNoSum) add_to_sums(tally, gap, measure);
}

// Whether elements with equal bits need not be seen: they then have no error, are in no sum, and are right even if they are
// NaNs.
MNEME_ELEMENT bool equal_is_enough(const Measure& measure) { return measure.sum == kNoSum && measure.nan != kNanNone; }

// Takes the elements in 8 bytes of memory into the tally; the first has the index `index`. For formats of at most 8 bytes.
template <class Format>
MNEME_ELEMENT void see_word(Tally& tally, u64 actual, u64 recorded, u64 index, const Measure& measure) {
  constexpr int kBits = Format::kBits * Format::kParts;
  if constexpr (kBits == 64 && Format::kParts == 1) {
    see<Format>(tally, {actual, 0}, {recorded, 0}, index, measure);
  } else if constexpr (kBits == 64) {
    see<Format>(tally, {actual & 0xffffffff, actual >> 32}, {recorded & 0xffffffff, recorded >> 32}, index, measure);
  } else {
    constexpr u64 kMask = (1ull << (kBits % 64)) - 1;
#pragma unroll 1
    for (int i = 0; i < 64 / kBits; ++i) {
      see<Format>(tally, {actual & kMask, 0}, {recorded & kMask, 0}, index + i, measure);
      actual >>= kBits % 64;
      recorded >>= kBits % 64;
    }
  }
}

// Takes the elements in 16 bytes into the tally; the first has the index `index`.
template <class Format>
MNEME_ELEMENT void see_wide(Tally& tally, const u64 (&actual)[2], const u64 (&recorded)[2], u64 index, const Measure& measure) {
  constexpr int kBits = Format::kBits * Format::kParts;
  if constexpr (kBits == 128) {
    see<Format>(tally, actual, recorded, index, measure);
  } else {
    see_word<Format>(tally, actual[0], recorded[0], index, measure);
    see_word<Format>(tally, actual[1], recorded[1], index + 64 / kBits, measure);
  }
}

}  // namespace mneme::element

// X(name, format) for every type, in the order of base/element.h; formats are in mneme::element.
#define MNEME_ELEMENT_FORMATS(X) \
  X(f16, F16)                    \
  X(bf16, BF16)                  \
  X(f8e4m3, F8E4M3)              \
  X(f8e5m2, F8E5M2)              \
  X(f32, F32)                    \
  X(f64, F64)                    \
  X(i8, I8)                      \
  X(i16, I16)                    \
  X(i32, I32)                    \
  X(i64, I64)                    \
  X(u8, U8)                      \
  X(u16, U16)                    \
  X(u32, U32)                    \
  X(u64, U64)                    \
  X(complex64, Complex64)        \
  X(complex128, Complex128)
