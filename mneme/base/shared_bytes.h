// SharedBytes: bytes that several have, and that nobody changes.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "mneme/base/types.h"

namespace mneme {

class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(ByteVector bytes)  // NOLINT(google-explicit-constructor): it is these bytes
      : bytes_(std::make_shared<const ByteVector>(std::move(bytes))) {}

  operator ByteSpan() const { return bytes_ ? ByteSpan(*bytes_) : ByteSpan(); }  // NOLINT(google-explicit-constructor)
  size_t size() const { return bytes_ ? bytes_->size() : 0; }
  // What is() is given to see later whether other bytes are this very object, without comparing contents. It keeps no bytes.
  std::weak_ptr<const ByteVector> identity() const { return bytes_; }
  bool is(const std::weak_ptr<const ByteVector>& identity) const { return bytes_ && bytes_ == identity.lock(); }
  friend bool operator==(const SharedBytes& one, const SharedBytes& other) {
    return std::ranges::equal(ByteSpan(one), ByteSpan(other));
  }

 private:
  std::shared_ptr<const ByteVector> bytes_;
};

}  // namespace mneme
