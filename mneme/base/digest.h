// A 128-bit content digest (XXH3-128). It names pages, kernels and instances; it is no protection against an adversary.
#pragma once

#include <array>
#include <compare>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

struct Digest {
  std::array<uint8_t, 16> bytes{};

  friend bool operator==(const Digest& a, const Digest& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Digest& a, const Digest& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) <=> 0;
  }
  std::string hex() const;                               // 32 lower-case digits, most significant first
  static Result<Digest> from_hex(std::string_view hex);  // invalid_argument unless exactly 32 hex digits
};

Digest digest_of(ByteSpan bytes);

// Digests a sequence of pieces. Only the bytes count, not how they are split into pieces: "ab", "c" and "a", "bc" give the same
// digest. Where the split should count, add the length of each piece too.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& add(ByteSpan bytes);
  Hasher& add(std::string_view text);  // adds its length first
  Hasher& add(uint64_t value);
  Digest finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mneme

template <>
struct std::hash<mneme::Digest> {
  size_t operator()(const mneme::Digest& d) const noexcept {
    uint64_t h;
    __builtin_memcpy(&h, d.bytes.data(), sizeof h);
    return h;
  }
};
