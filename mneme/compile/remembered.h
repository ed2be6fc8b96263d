// Remembered: values by the digest of what they follow from, as long as there is room; of more the oldest are forgotten.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "mneme/base/digest.h"
#include "mneme/base/types.h"

namespace mneme {

template <typename Value>
class Remembered {
 public:
  // `most`: of all values together.
  explicit Remembered(Bytes most) : most_(most) {}

  // Null where it is not known. Valid until the next put().
  const Value* find(const Digest& key) const {
    const auto known = values_.find(key);
    return known == values_.end() ? nullptr : &known->second;
  }

  // `size`: what the value takes. One that is larger than the room is not kept, and one that is known stays as it is.
  void put(const Digest& key, Value value, Bytes size) {
    if (size > most_ || !values_.try_emplace(key, std::move(value)).second) return;
    oldest_.emplace_back(key, size);
    size_ = size_ + size;
    while (size_ > most_) {
      const auto [gone, its_size] = oldest_.front();
      oldest_.pop_front();
      values_.erase(gone);
      size_ = size_ - its_size;
    }
  }

 private:
  Bytes most_;
  std::map<Digest, Value> values_;
  std::deque<std::pair<Digest, Bytes>> oldest_;  // first
  Bytes size_;                                   // of all values
};

}  // namespace mneme
