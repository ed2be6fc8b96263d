// RestoredRun: one run of a kernel on restored memory, from PreparedMemory::restore() to the check of what it left.
//
//     MNEME_ASSIGN(RestoredRun run, memory.restore(symbols, StartState::recorded));
//     ... launch the kernel ...
//     MNEME_ASSIGN(const CheckedRun checked, std::move(run).check());
//
// A run is checked once. Until a check has found all memory as recorded, nobody knows where the kernel wrote. A run that is
// dropped unchecked, and a run that the check finds different, therefore leave the memory untrusted: the next restore() puts
// all of it back, and not only what the recorded kernel changes. PreparedMemory::forget_checks() gives up checks that were
// started and whose results nobody wants; that leaves the memory untrusted too.
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

// Where a loaded module has each global that is placed at a module symbol (Placement), by name. Globals that the code no longer
// has are left out.
using SymbolPlaces = std::map<std::string, DevicePtr>;

// What a launch finds in memory. `recorded`: what was recorded before the launch. `masked`: the same, but with wrong bytes
// where the recorded kernel writes and does not read, so that a check finds code which does not write them (output_mask.h).
// Where the memory has no output mask, `masked` means the same as `recorded`.
enum class StartState { recorded, masked };

// What the check of a run found.
struct CheckedRun {
  bool equal = false;  // all memory is as recorded after the launch, to the byte
  DevicePtr first;     // where it is not: the address of the first block that differs, or of a global
};

class RestoredRun {
 public:
  RestoredRun(RestoredRun&& other) noexcept;
  RestoredRun& operator=(RestoredRun&&) = delete;
  ~RestoredRun();

  // Puts back what restore() has put back for this run, for another launch of the same code: what the recorded kernel changes,
  // or everything where the memory was untrusted. In the former case what an earlier launch of the run wrote elsewhere stays
  // there, and the check of the run finds it. Ordered in the stream; may return before it is done. internal: the run was
  // checked, or moved from.
  Status restore_again();

  // Compares all memory with what was recorded after the launch, and waits for the result. Failures are the device's, and
  // internal: the run was checked already, or moved from, or the results of earlier check_later() calls were not taken, which
  // are then lost.
  Result<CheckedRun> check() &&;
  // Starts the same comparison, ordered in the stream, without waiting for it; PreparedMemory::take_checks() gives the result.
  // internal: the run was checked already, or moved from.
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
