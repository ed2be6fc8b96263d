// RangeMap: a map from pieces of memory to values. It tells which piece holds an address.
#pragma once

#include <iterator>
#include <map>
#include <variant>

#include "mneme/base/memory_range.h"

namespace mneme {

// Ranges of memory, each with a value, in the order of their addresses. Ranges should not overlap: before adding one that may
// overlap others, remove those (first_overlap()). Where ranges overlap all the same, find() looks only at the range that starts
// last at or before the address. Not thread-safe. Iterators and pointers to entries stay valid until their entry is erased.
template <class Value = std::monostate>
class RangeMap {
 public:
  struct Entry {
    MemoryRange range;
    Value value;
  };

  // Iterates over the entries by address.
  template <class Base>
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Entry;
    using reference = std::remove_reference_t<decltype((std::declval<Base>()->second))>&;
    using pointer = std::remove_reference_t<reference>*;

    Iterator() = default;
    explicit Iterator(Base base) : base_(base) {}
    reference operator*() const { return base_->second; }
    pointer operator->() const { return &base_->second; }
    Iterator& operator++() { return ++base_, *this; }
    Iterator operator++(int) { return Iterator(base_++); }
    Iterator& operator--() { return --base_, *this; }
    Iterator operator--(int) { return Iterator(base_--); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class RangeMap;
    Base base_;
  };
  using iterator = Iterator<typename std::map<DevicePtr, Entry>::iterator>;
  using const_iterator = Iterator<typename std::map<DevicePtr, Entry>::const_iterator>;

  iterator begin() { return iterator(entries_.begin()); }
  iterator end() { return iterator(entries_.end()); }
  const_iterator begin() const { return const_iterator(entries_.begin()); }
  const_iterator end() const { return const_iterator(entries_.end()); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }

  // Adds a range. It replaces the one that starts at the same address, if there is one.
  Entry& set(MemoryRange range, Value value = {}) {
    return entries_.insert_or_assign(range.address, Entry{range, std::move(value)}).first->second;
  }

  // The entry whose range holds `place`; null where none does.
  const Entry* find(DevicePtr place) const {
    const auto after = entries_.upper_bound(place);
    if (after == entries_.begin()) return nullptr;
    const Entry& before = std::prev(after)->second;
    return before.range.contains(place) ? &before : nullptr;
  }

  // The entry whose range starts at `address`; null where none does.
  const Entry* find_start(DevicePtr address) const {
    const auto found = entries_.find(address);
    return found == entries_.end() ? nullptr : &found->second;
  }

  // The first entry that shares a byte with `range`, or end(). All others that do follow it directly.
  iterator first_overlap(MemoryRange range) { return iterator(overlapping(entries_, range)); }
  const_iterator first_overlap(MemoryRange range) const { return const_iterator(overlapping(entries_, range)); }

  // Removes an entry and returns the one behind it.
  iterator erase(iterator entry) { return iterator(entries_.erase(entry.base_)); }
  // Removes the entry that starts at `address`. Returns whether there was one.
  bool erase_start(DevicePtr address) { return entries_.erase(address) != 0; }

 private:
  template <class Entries>
  static auto overlapping(Entries& entries, MemoryRange range) {
    auto found = entries.upper_bound(range.address);
    if (found != entries.begin() && std::prev(found)->second.range.overlaps(range)) --found;
    return found != entries.end() && found->second.range.overlaps(range) ? found : entries.end();
  }

  std::map<DevicePtr, Entry> entries_;
};

}  // namespace mneme
