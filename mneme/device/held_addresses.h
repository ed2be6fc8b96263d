// HeldAddresses: keeps addresses of this process free, so that nothing is placed there before a replay takes them.
//
// Memory that was recorded outside of the recorder's range lay wherever the system, or the CUDA driver, had put it. Opening a
// device maps gigabytes of this process anywhere, and so may loading a library; now and then that is where recorded memory
// belongs. Whoever is about to open a device for a replay therefore holds the addresses first. Whoever reserves them borrows
// them for as long as the reservation stands:
//
//   HeldAddresses held({{address, size}});           // the range is mapped without access
//   MNEME_ASSIGN(auto device, Device::open(kind));   // what this maps lies elsewhere
//   AddressLoan loan({address, size});               // the range is free
//   MNEME_ASSIGN(auto space, device->reserve(address, size));
//
// CUDA's driver looks at what the process has mapped when it starts, and gives none of these places afterwards, also when they
// are free again. While it starts, what is held is therefore free (DriverStart), and held again before it opens a device.
//
// What is held and lent is known for the process as a whole, whatever the session or thread. All is thread-safe; one object is
// used by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/types.h"

namespace mneme {

// Holds ranges until it is destroyed; empty ranges are passed over. Address and size of a range are multiples of kHostPage.
// Ranges may overlap one another and those of other objects. Never fails: a range that has something in it already is left as it
// is, and is tried again when a loan of it ends.
class HeldAddresses {
 public:
  HeldAddresses() = default;  // holds nothing
  explicit HeldAddresses(std::vector<MemoryRange> ranges);
  ~HeldAddresses() { release(); }
  HeldAddresses(HeldAddresses&& other) noexcept;
  HeldAddresses& operator=(HeldAddresses&& other) noexcept;

  // Holds nothing from now on. What is lent stays with its borrower.
  void release();

 private:
  uint64_t holder_ = 0;  // 0: of nothing
};

// A range that no HeldAddresses of this process keeps occupied while this object lives, whoever holds it and when. When it ends,
// what is still to be held of the range is held again, so the reservation must have gone by then.
class AddressLoan {
 public:
  explicit AddressLoan(MemoryRange range);
  ~AddressLoan();
  AddressLoan(AddressLoan&& other) noexcept;
  AddressLoan& operator=(AddressLoan&&) = delete;

 private:
  MemoryRange range_;  // of no bytes: was moved from
};

// While a driver starts: nothing that is held is mapped, but a page on either side of it, kHoldDistance away. What is larger than
// that is then placed elsewhere by the system, and what is small lies next to the page, far from what is held. When the object
// ends, what is to be held is held again; what was placed there meanwhile is left as it is.
class DriverStart {
 public:
  DriverStart();
  ~DriverStart();
  DriverStart(const DriverStart&) = delete;
  DriverStart& operator=(const DriverStart&) = delete;
};
inline constexpr Bytes kHoldDistance = 1_GiB;

}  // namespace mneme
