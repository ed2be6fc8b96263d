// PreparedMemory: the memory of one recorded launch on a device: as it was before the launch, put back as often as wanted, and
// compared with what it was after.
//
// Used by one thread at a time. Database, instance, plan, device and stream must outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/replay/memory_plan.h"
#include "mneme/replay/page_upload.h"
#include "mneme/replay/recorded_addresses.h"
#include "mneme/replay/run_memory.h"
#include "mneme/replay/verification.h"
#include "mneme/store/database.h"

namespace mneme {

// Where a loaded module has each global that lies at a module symbol; those that the code no longer has are left out.
using SymbolPlaces = std::map<std::string, DevicePtr>;

class PreparedMemory {
 public:
  // Failures: those of RecordedAddresses; what the store says of damage; exhausted when the device has not enough memory, with
  // both figures.
  static Result<std::unique_ptr<PreparedMemory>> create(const Database& database, const InstanceRecord& instance,
                                                        const MemoryPlan& plan, Device& device, Stream& stream,
                                                        const PrepareProgress& progress);
  ~PreparedMemory();
  PreparedMemory(const PreparedMemory&) = delete;
  PreparedMemory& operator=(const PreparedMemory&) = delete;

  // not_found: the code has lost a global that it needs. incompatible: one has another size.
  Result<SymbolPlaces> places_in(Module& module) const;

  // Puts back what the recorded kernel changes, or everything after distrust(). Ordered in the stream; may return before it is
  // done.
  Status restore(const SymbolPlaces& symbols);
  // Memory that the recorded kernel leaves alone may have been written.
  void distrust() { restore_everything_ = true; }
  // Reads all of it through the device's caches.
  Status read_through(const SymbolPlaces& symbols);

  // What is there now, beside what was recorded.
  Result<RunMemory> observe(const SymbolPlaces& symbols);
  // Compares all of it. Trusts the memory again when no byte differs.
  Result<Verification> verify(const SymbolPlaces& symbols, const std::vector<ToleratedRange>& tolerated);

  // The recorded addresses are free for others until they are taken back; the copies stay. Failures: those of create(), after
  // which it can be tried again.
  void give_addresses_up();
  Status take_addresses();

  // The copy of the epilogue, plan.copy_size bytes.
  DevicePtr expected() const { return expected_; }

 private:
  PreparedMemory(const Database& database, const InstanceRecord& instance, const MemoryPlan& plan, Device& device, Stream& stream)
      : database_(database), instance_(instance), plan_(plan), device_(device), stream_(stream) {}
  Status allocate_copies();
  Status upload(const PrepareProgress& progress);
  Status read_symbol_states();

  struct SymbolState {
    ByteVector prologue, epilogue;
    DevicePtr pristine;  // the prologue in device memory
  };

  const Database& database_;
  const InstanceRecord& instance_;
  const MemoryPlan& plan_;
  Device& device_;
  Stream& stream_;
  std::optional<RecordedAddresses> addresses_;
  DevicePtr pristine_, expected_;               // copies of plan_.copy_size bytes
  std::map<std::string, SymbolState> symbols_;  // of regions placed at module symbols
  bool restore_everything_ = true;              // memory outside of the changed pages may have been written
};

}  // namespace mneme
