#include "mneme/cpu/run/texel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace mneme::cpu {
namespace {

uint32_t read_bits(const std::byte* from, uint32_t bytes) {
  uint16_t half = 0;
  uint32_t word = 0;
  switch (bytes) {
    case 1: return std::to_integer<uint32_t>(*from);
    case 2: return std::memcpy(&half, from, sizeof half), half;
    default: return std::memcpy(&word, from, sizeof word), word;
  }
}

uint32_t sign_extend(uint32_t value, uint32_t bits) {
  const uint32_t unused = 32 - bits;
  return static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
}

// IEEE binary16 to binary32, which is exact.
float half_to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31, mantissa = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float subnormal = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -subnormal : subnormal;
}

// binary32 to binary16, to the nearest and of two as near to the even one.
uint32_t float_to_half(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // half of a step above the greatest
  if (magnitude < 0x38800000u)                          // the step of subnormal numbers is 2^-24
    return sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return sign | ((rounded - 0x38000000u) >> 13);
}

uint32_t limit(uint32_t value, const TexelFormat& format) {
  if (format.kind == TexelKind::real) return format.bits == 16 ? float_to_half(value) : value;
  if (format.kind == TexelKind::unsigned_integer) return std::min<uint64_t>(value, (uint64_t{1} << format.bits) - 1);
  const int64_t most = (int64_t{1} << (format.bits - 1)) - 1;
  return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int32_t>(value), -most - 1, most));
}

float normalize(uint32_t value, const TexelFormat& format) {
  if (format.kind == TexelKind::unsigned_integer)
    return static_cast<float>(value) / static_cast<float>((uint64_t{1} << format.bits) - 1);
  const auto most = static_cast<float>((uint64_t{1} << (format.bits - 1)) - 1);
  return std::max(static_cast<float>(static_cast<int32_t>(value)) / most, -1.0f);
}

}  // namespace

Components read_texel(const std::byte* texel, const TexelFormat& format, bool normalized) {
  Components components{};
  if (format.kind == TexelKind::real && format.bits == 32) {  // most are
    for (uint32_t i = 0; i < format.components; ++i) std::memcpy(&components[i], texel + sizeof(float) * i, sizeof(float));
    return components;
  }
  for (uint32_t i = 0; i < format.components; ++i) {
    uint32_t value = read_bits(texel + i * (format.bits / 8), format.bits / 8);
    if (format.kind == TexelKind::signed_integer) value = sign_extend(value, format.bits);
    if (format.kind == TexelKind::real && format.bits == 16) value = std::bit_cast<uint32_t>(half_to_float(value));
    if (format.kind != TexelKind::real && normalized) value = std::bit_cast<uint32_t>(normalize(value, format));
    components[i] = value;
  }
  return components;
}

void write_texel(std::byte* texel, const TexelFormat& format, const Components& components) {
  for (uint32_t i = 0; i < format.components; ++i) {
    const uint32_t value = limit(components[i], format);
    std::memcpy(texel + i * (format.bits / 8), &value, format.bits / 8);  // the low bytes, which come first
  }
}

float decode_srgb(float value) { return value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f); }

}  // namespace mneme::cpu
