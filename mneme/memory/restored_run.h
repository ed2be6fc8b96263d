// RestoredRun: one run of a kernel on restored memory, from PreparedMemory::restore() to the check of what it left.
//
//     MNEME_ASSIGN(RestoredRun run, memory.restore(symbols, StartState::recorded));
//     ... launch the kernel ...
//     MNEME_ASSIGN(const CheckedRun checked, std::move(run).check());
//
// Only a check tells what a run has left, and a run is checked once. Until a check has found all memory as recorded nobody knows
// where the kernel wrote: a run that is dropped unchecked, and one that is not equal, leave the memory untrusted, so that the
// next restore() puts all of it back and not only what the recorded kernel changes. A check that was started and whose result
// nobody wants is given up by PreparedMemory::forget_checks(), which leaves the memory untrusted too.
//
// Used by the thread that uses the PreparedMemory, which must outlive the run.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

class PreparedMemory;

// Where a loaded module has each global that lies at a module symbol; those that the code no longer has are left out.
using SymbolPlaces = std::map<std::string, DevicePtr>;

// What a launch finds in memory: what was recorded before the launch; or the same with wrong bytes where the recorded kernel
// writes and does not read, so that code which leaves them out is found out. Where the memory has no output mask, `masked` means
// the same as `recorded`.
enum class StartState { recorded, masked };

// What the check of a run found.
struct CheckedRun {
  bool equal = false;  // all memory is as recorded after the launch, to the byte
  DevicePtr first;     // the block or global that is not
};

class RestoredRun {
 public:
  RestoredRun(RestoredRun&& other) noexcept;
  RestoredRun& operator=(RestoredRun&&) = delete;
  ~RestoredRun();

  // Puts back what restore() has put back for this run, for another launch of the same code: what the recorded kernel changes, or
  // everything where the memory was untrusted. In the former case what an earlier launch of the run wrote elsewhere stays there,
  // and the check of the run sees it. Ordered in the stream; may return before it is done.
  Status restore_again();

  // Compares all memory with what was recorded, and waits for it. Failures are the device's, and internal: the run was checked
  // already, or moved from (check_later() says so too), or the result of another check was not taken.
  Result<CheckedRun> check() &&;
  // The same without waiting: the comparison is ordered in the stream, and PreparedMemory::take_checks() gives its result.
  Status check_later() &&;

 private:
  friend class PreparedMemory;
  enum class Extent { changed, everything };  // what the recorded kernel changes; all memory
  RestoredRun(PreparedMemory& memory, SymbolPlaces symbols, StartState start, Extent extent)
      : memory_(&memory), symbols_(std::move(symbols)), start_(start), extent_(extent) {}

  PreparedMemory* memory_;  // null: the run was checked, or moved from
  SymbolPlaces symbols_;
  StartState start_;
  Extent extent_;
};

}  // namespace mneme
