#include "mneme/base/digest.h"

#include <xxhash.h>

namespace mneme {
namespace {

Digest to_digest(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Digest digest;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.bytes.begin());
  return digest;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

Result<Digest> Digest::from_hex(std::string_view hex) {
  Digest digest;
  bool valid = hex.size() == 2 * digest.bytes.size();
  for (size_t i = 0; valid && i < digest.bytes.size(); ++i) {
    int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (!valid) return error(Code::invalid_argument, "'{}' is not a hash (32 hexadecimal digits)", hex);
  return digest;
}

Digest digest_of(ByteSpan bytes) { return to_digest(XXH3_128bits(bytes.data(), bytes.size())); }

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(ByteSpan bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(uint64_t{text.size()});
  return add(std::as_bytes(std::span(text)));
}

Hasher& Hasher::add(uint64_t value) { return add(std::as_bytes(std::span(&value, 1))); }

Digest Hasher::finish() const { return to_digest(XXH3_128bits_digest(&state_->xxh)); }

}  // namespace mneme
