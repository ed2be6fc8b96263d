#include "mneme/device/held_addresses.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "mneme/base/range_map.h"
#include "mneme/device/address_space.h"
#include "mneme/device/host_mapping.h"

namespace mneme {
namespace {

void* pointer_to(DevicePtr p) { return reinterpret_cast<void*>(p.address); }

// The part of `range` that lies in `other`; they overlap.
MemoryRange common(const MemoryRange& range, const MemoryRange& other) {
  const DevicePtr begin = std::max(range.address, other.address);
  return {begin, std::min(range.end(), other.end()) - begin};
}

// What is left of a range, by address, when others are taken out of it.
std::vector<MemoryRange> without(const MemoryRange& range, std::vector<MemoryRange> others) {
  std::sort(others.begin(), others.end());
  std::vector<MemoryRange> left;
  DevicePtr at = range.address;
  for (const MemoryRange& other : others) {
    if (!range.overlaps(other)) continue;
    if (other.address > at) left.push_back({at, other.address - at});
    at = std::max(at, other.end());
  }
  if (at < range.end()) left.push_back({at, range.end() - at});
  return left;
}

// Memory that nobody can access. It costs address space alone.
bool occupy(const MemoryRange& range) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* got = ::mmap(pointer_to(range.address), range.size.count, PROT_NONE, kFlags, -1, 0);
  if (got == pointer_to(range.address)) return true;
  // A kernel older than MAP_FIXED_NOREPLACE takes the address for a hint.
  if (got != MAP_FAILED) ::munmap(got, range.size.count);
  return false;
}

// What is to be held, what is lent, and what of the process's addresses is occupied for the difference.
class AddressLedger {
 public:
  // It is never destroyed: objects that hold may end after any other.
  static AddressLedger& of_process() {
    static auto* ledger = new AddressLedger;
    return *ledger;
  }

  uint64_t hold(std::vector<MemoryRange> ranges) {
    std::lock_guard lock(mutex_);
    const std::vector<MemoryRange>& held = wanted_[++last_holder_] = std::move(ranges);
    if (starting_ == 0)
      for (const MemoryRange& range : held) occupy_wanted(range);
    return last_holder_;
  }

  void release(uint64_t holder) {
    std::lock_guard lock(mutex_);
    const auto node = wanted_.extract(holder);
    for (const MemoryRange& range : node.mapped())
      for (const MemoryRange& unwanted : without(range, wanted_in(range))) vacate(unwanted);
  }

  void lend(const MemoryRange& range) {
    std::lock_guard lock(mutex_);
    lent_.insert(range);
    vacate(range);
  }

  void take_back(const MemoryRange& range) {
    std::lock_guard lock(mutex_);
    lent_.erase(lent_.find(range));
    if (starting_ == 0) occupy_wanted(range);
  }

  void driver_starts() {
    std::lock_guard lock(mutex_);
    if (starting_++ > 0) return;
    for (const auto& [_, ranges] : wanted_)
      for (const MemoryRange& range : ranges) {
        vacate(range);
        occupy_page(range.address.address - kHoldDistance.count - kHostPage.count);
        occupy_page(range.end().address + kHoldDistance.count);
      }
  }

  void driver_started() {
    std::lock_guard lock(mutex_);
    if (--starting_ > 0) return;
    for (const MemoryRange& page : pages_) ::munmap(pointer_to(page.address), page.size.count);
    pages_.clear();
    for (const auto& [_, ranges] : wanted_)
      for (const MemoryRange& range : ranges) occupy_wanted(range);
  }

 private:
  // What holders want of a range.
  std::vector<MemoryRange> wanted_in(const MemoryRange& range) const {
    std::vector<MemoryRange> wanted;
    for (const auto& [_, ranges] : wanted_)
      for (const MemoryRange& one : ranges)
        if (one.overlaps(range)) wanted.push_back(common(one, range));
    return wanted;
  }

  // Each holder's part by itself, so that what cannot be had of one leaves the others alone.
  void occupy_wanted(const MemoryRange& range) {
    for (const MemoryRange& wanted : wanted_in(range)) {
      std::vector<MemoryRange> not_now(lent_.begin(), lent_.end());
      for (auto one = occupied_.first_overlap(wanted); one != occupied_.end() && one->range.overlaps(wanted); ++one)
        not_now.push_back(one->range);
      for (const MemoryRange& piece : without(wanted, std::move(not_now)))
        if (occupy(piece)) occupied_.set(piece);
    }
  }

  // Unless it is wanted itself, or lies where the recorder places memory: the system places nothing there by itself.
  void occupy_page(uint64_t address) {
    if (address < kHostMemoryBase.address + kDefaultAddressSpaceSize.count) return;
    const MemoryRange page{DevicePtr(address), kHostPage};
    if (wanted_in(page).empty() && occupy(page)) pages_.push_back(page);
  }

  void vacate(const MemoryRange& range) {
    for (auto one = occupied_.first_overlap(range); one != occupied_.end() && one->range.overlaps(range);) {
      const MemoryRange whole = one->range, part = common(whole, range);
      if (::munmap(pointer_to(part.address), part.size.count) != 0) {
        ++one;  // the system has no more mappings to split it into
        continue;
      }
      one = occupied_.erase(one);
      for (const MemoryRange& rest : without(whole, {part})) occupied_.set(rest);
    }
  }

  std::mutex mutex_;
  uint64_t last_holder_ = 0;
  std::map<uint64_t, std::vector<MemoryRange>> wanted_;  // by holder
  std::multiset<MemoryRange> lent_;
  RangeMap<> occupied_;
  int starting_ = 0;                // drivers
  std::vector<MemoryRange> pages_;  // that are occupied while one starts
};

}  // namespace

HeldAddresses::HeldAddresses(std::vector<MemoryRange> ranges) : holder_(AddressLedger::of_process().hold(std::move(ranges))) {}

HeldAddresses::HeldAddresses(HeldAddresses&& other) noexcept : holder_(std::exchange(other.holder_, 0)) {}

HeldAddresses& HeldAddresses::operator=(HeldAddresses&& other) noexcept {
  if (this == &other) return *this;
  release();
  holder_ = std::exchange(other.holder_, 0);
  return *this;
}

void HeldAddresses::release() {
  if (holder_ != 0) AddressLedger::of_process().release(std::exchange(holder_, 0));
}

AddressLoan::AddressLoan(MemoryRange range) : range_(range) { AddressLedger::of_process().lend(range_); }

AddressLoan::AddressLoan(AddressLoan&& other) noexcept : range_(std::exchange(other.range_, {})) {}

AddressLoan::~AddressLoan() {
  if (range_.size.count != 0) AddressLedger::of_process().take_back(range_);
}

DriverStart::DriverStart() { AddressLedger::of_process().driver_starts(); }
DriverStart::~DriverStart() { AddressLedger::of_process().driver_started(); }

}  // namespace mneme
