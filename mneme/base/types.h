// The units and spaces that the rooms speak in.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mneme {

// A size in bytes.
struct Bytes {
  uint64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(uint64_t n) : count(n) {}
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count + b.count); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count - b.count); }
  constexpr Bytes& operator+=(Bytes b) {
    count += b.count;
    return *this;
  }
};
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }

// `unit` is not 0.
constexpr uint64_t round_down(uint64_t value, uint64_t unit) { return value / unit * unit; }
constexpr uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// An address that a kernel can dereference. Host code never dereferences one, except that of the CPU device, which owns it.
struct DevicePtr {
  uint64_t address = 0;

  constexpr DevicePtr() = default;
  constexpr explicit DevicePtr(uint64_t a) : address(a) {}
  friend constexpr auto operator<=>(DevicePtr, DevicePtr) = default;
  friend constexpr DevicePtr operator+(DevicePtr p, Bytes n) { return DevicePtr(p.address + n.count); }
  friend constexpr Bytes operator-(DevicePtr a, DevicePtr b) { return Bytes(a.address - b.address); }
};

// Extents of a grid in blocks, or of a block in threads.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  friend constexpr auto operator<=>(const Dim3&, const Dim3&) = default;
  constexpr uint64_t volume() const { return uint64_t{x} * y * z; }
};

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;
using ByteVector = std::vector<std::byte>;

// As {fmt} shows them too: "1.5 MiB", "0x7a0000000200", "128x4x1".
std::string format_bytes(Bytes bytes);
std::string format_address(DevicePtr address);
std::string format_extents(const Dim3& extents);

}  // namespace mneme

// These call functions that are compiled once: {fmt}'s own would be compiled anew in every source that shows one of the types.
template <>
struct fmt::formatter<mneme::Bytes> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(mneme::Bytes bytes, fmt::format_context& context) const {
    const std::string text = mneme::format_bytes(bytes);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
template <>
struct fmt::formatter<mneme::DevicePtr> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(mneme::DevicePtr p, fmt::format_context& context) const {
    const std::string text = mneme::format_address(p);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
template <>
struct fmt::formatter<mneme::Dim3> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const mneme::Dim3& d, fmt::format_context& context) const {
    const std::string text = mneme::format_extents(d);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
