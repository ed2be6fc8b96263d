// Filter: looks at elements in single precision, so that see(), which is slow in double precision, is needed for few of them.
//
// It estimates an element's error with a margin that is larger than what rounding can do. It is sure of most elements that they
// change nothing of a tally but the number of those that fail. An element of which it is not sure goes to see(), so that a
// tally is the same with a filter and without. For device code too: see element_math.h.
#pragma once

#include "mneme/device/element_math.h"

namespace mneme::element {

// Whether filters take a format. The values and distances of the others are too large for single precision.
template <class Format>
struct IsFiltered {
  static constexpr bool value = Format::kParts == 1 && Format::kBits <= 32;
};

// An estimate of an element's error, which is size / unit: each of the two has a relative error below 2^-22. Of a NaN or an
// infinity the size is no_size() or infinite.
struct Estimate {
  float size, unit;
};

MNEME_ELEMENT float no_size() { return __builtin_nanf(""); }

MNEME_ELEMENT float single(F32, unsigned bits) { return __builtin_bit_cast(float, bits); }
MNEME_ELEMENT float single(BF16, unsigned bits) { return __builtin_bit_cast(float, bits << 16); }
MNEME_ELEMENT float single(F16, unsigned bits) { return (float)__builtin_bit_cast(_Float16, (unsigned short)bits); }
MNEME_ELEMENT float single(F8E5M2, unsigned bits) { return single(F16(), bits << 8); }
MNEME_ELEMENT float single(F8E4M3, unsigned bits) { return (bits & 0x7f) == 0x7f ? no_size() : (float)F8E4M3::value(bits); }

template <class Format, int kError>
MNEME_ELEMENT Estimate estimate(unsigned actual, unsigned recorded) {
  Estimate estimate{0, 1};
  if constexpr (!Format::kIsFloating) {
    constexpr unsigned kBias = (unsigned)Format::kBias, kMask = (unsigned)Format::kMask;
    unsigned a = (actual + kBias) & kMask, r = (recorded + kBias) & kMask;
    estimate.size = (float)(a > r ? a - r : r - a);
    if constexpr (kError == kRelative) estimate.unit = (float)(r > kBias ? r - kBias : kBias - r);
  } else if constexpr (kError == kUlp) {
    constexpr unsigned kSign = (unsigned)Format::kSign, kSpecial = (unsigned)Format::kSpecial;
    unsigned a = actual & ~kSign, r = recorded & ~kSign;
    unsigned ulps = ((actual ^ recorded) & kSign) != 0 ? a + r : a > r ? a - r : r - a;
    estimate.size = a >= kSpecial || r >= kSpecial ? no_size() : (float)ulps;
  } else {
    float x = single(Format(), actual), y = single(Format(), recorded);
    estimate.size = __builtin_fabsf(x - y);
    if constexpr (kError == kRelative) estimate.unit = __builtin_fabsf(y);
  }
  return estimate;
}

// Whether filters can be used with a measure: not with a sum, which needs every element's exact size.
MNEME_ELEMENT bool can_filter(const Measure& measure) { return measure.sum == kNoSum && measure.threshold < infinity(); }

// For one thread's elements, in rising order of index, measured by `kError`.
template <class Format, int kError>
class Filter {
 public:
  MNEME_ELEMENT Filter(const Measure& measure, const Tally& tally) {
    const double threshold = measure.threshold;
    if (is_whole(threshold)) {
      pass_ = fail_later_ = (float)(unsigned)threshold + 0.5f;
    } else {
      pass_ = below(threshold);
      fail_later_ = above(threshold);
    }
    learn(tally);
  }

  struct Look {
    bool known;  // the filter is sure: see() would at most count the element as one that fails
    bool fails;  // where `known`: whether it fails
  };
  MNEME_ELEMENT Look look(unsigned actual, unsigned recorded) const {
    const Estimate e = estimate<Format, kError>(actual, recorded);
    const bool fails = e.size > fail_ * e.unit;
    return {e.size <= 0 || (is_no_worse(e, actual, recorded) && (fails || e.size < pass_ * e.unit)), fails};
  }

  // A look at several elements at once, without branches: it is known where all of them pass, or all of them fail.
  struct Several {
    bool pass = true, fail = true, no_worse = true;
    MNEME_ELEMENT bool known() const { return no_worse && (pass || fail); }
  };
  MNEME_ELEMENT void look(Several& several, unsigned actual, unsigned recorded) const {
    const Estimate e = estimate<Format, kError>(actual, recorded);
    several.pass = several.pass & (e.size < pass_ * e.unit);
    several.fail = several.fail & (e.size > fail_ * e.unit);
    several.no_worse = several.no_worse & is_no_worse(e, actual, recorded);
  }

  // To be called after see() had an element: takes over what the tally now says.
  MNEME_ELEMENT void learn(const Tally& tally) {
    // Which is the first to fail is see()'s to say.
    fail_ = tally.failing == 0 ? (float)infinity() : fail_later_;
    worst_ = tally.worst == infinity() ? (float)infinity()
             : is_whole(tally.worst)   ? (float)(unsigned)tally.worst + 0.5f
                                       : below(tally.worst);
  }
  MNEME_ELEMENT void learn(const Tally& tally, u64 index, unsigned actual, unsigned recorded) {
    learn(tally);
    if (tally.worst_at != index) return;
    // Its like is no worse.
    like_worst_ = both(actual, recorded);
  }

 private:
  // Of no size, no comparison is true: it is neither sure to pass nor to fail.
  MNEME_ELEMENT bool is_no_worse(const Estimate& e, unsigned actual, unsigned recorded) const {
    return !(e.size >= worst_ * e.unit) | (both(actual, recorded) == like_worst_);
  }
  MNEME_ELEMENT static auto both(unsigned actual, unsigned recorded) {
    if constexpr (Format::kBits == 32)
      return (u64)actual << 32 | recorded;
    else
      return actual << 16 | recorded;
  }

  // Where sizes are whole numbers and units are one, between two of them lies an exact bound. Beyond these numbers single
  // precision rounds sizes, but never across the bound.
  MNEME_ELEMENT static bool is_whole(double bound) {
    return (kError == kUlp || (kError == kAbsolute && !Format::kIsFloating)) && bound < 4194304;
  }
  // Bounds that hold for estimates: sizes that are certainly less than, or more than, `bound` units. Products may round to
  // denormals, which lie half of what separates two sizes from what they should be; so a bound itself is never certain.
  static constexpr double kMargin = 0x1p-20, kSmall = 0x1p-100, kLarge = 3e38;
  MNEME_ELEMENT static float below(double bound) {
    if (bound < kSmall) return 0;
    return bound > kLarge ? (float)kLarge : (float)(bound * (1 - kMargin));
  }
  MNEME_ELEMENT static float above(double bound) {
    if (bound == 0) return 0;
    return bound < kSmall || bound > kLarge ? (float)infinity() : (float)(bound * (1 + kMargin));
  }

  float pass_, fail_later_, fail_, worst_;
  decltype(both(0, 0)) like_worst_ = 0;
};

}  // namespace mneme::element
