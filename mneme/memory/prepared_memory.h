// PreparedMemory: the memory of one recorded launch on a device: as it was before the launch, put back as often as wanted, and
// compared with what it was after.
//
// Beside the memory that the kernel works on the device holds what the kernel changes, as it was before and as it was after, and
// a hash of every block after. Where there is room for all of the memory before, all of it is held, and what a wrong kernel has
// damaged is put back from there, else from the database.
//
// Used by one thread at a time. Database, instance, plan, device and stream must outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/expected_memory.h"
#include "mneme/memory/mapped_copy.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/memory/page_upload.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/memory/recorded_copies.h"
#include "mneme/memory/restored_run.h"
#include "mneme/memory/run_memory.h"
#include "mneme/memory/shared_copies.h"
#include "mneme/store/database.h"

namespace mneme {

class PreparedMemory {
 public:
  // `copies` where another process has them already; else they are made, shareable or not. Failures: those of RecordedAddresses;
  // what the store says of damage; exhausted when the device has not enough memory, with both figures.
  static Result<std::unique_ptr<PreparedMemory>> create(const Database& database, const InstanceRecord& instance,
                                                        const MemoryPlan& plan, Device& device, Stream& stream,
                                                        const PrepareProgress& progress, RecordedCopies copies = {});
  ~PreparedMemory();
  PreparedMemory(const PreparedMemory&) = delete;
  PreparedMemory& operator=(const PreparedMemory&) = delete;

  // not_found: the code has lost a global that it needs. incompatible: one has another size.
  Result<SymbolPlaces> places_in(Module& module) const;

  // Puts back what the recorded kernel changes, or everything where the last run left memory untrusted. Ordered in the stream;
  // may return before it is done. Several runs may be under way, each with its launches behind those of the one before.
  Result<RestoredRun> restore(SymbolPlaces symbols, StartState start = StartState::recorded);
  // Whether memory that the recorded kernel leaves alone is known to be as it was before the launch; while runs are under way,
  // whether it will be if their checks find no difference.
  bool trusted() const { return trusted_; }
  // Reads all of it through the device's caches.
  Status read_through(const SymbolPlaces& symbols);

  // What is in these blocks now is what StartState::masked puts back there. exhausted.
  Status keep_masked(const std::vector<MemoryRange>& blocks, Bytes masked_bytes);
  // The same for globals at module symbols that the recorded kernel writes and does not read, all of which are made wrong: it is
  // run from there by the caller, and what it leaves wrong is then taken out, where `now` has them.
  Status mask_symbols(const std::set<std::string>& names);
  Status keep_masked_symbols(const std::set<std::string>& names, const SymbolPlaces& now);
  void forget_masked_symbols();
  bool has_masked() const { return copies_.masked || copies_.masked_symbols; }
  Bytes masked_bytes() const { return copies_.masked_bytes; }

  // Waits for the stream, and gives what each RestoredRun::check_later() since the last call found, in their order.
  Result<std::vector<CheckedRun>> take_checks();
  // Drops the checks that were started. As after a run that was not checked the memory is untrusted.
  void forget_checks();

  // What is there now, beside what was recorded, of a run that began with `start`.
  Result<RunMemory> observe(const SymbolPlaces& symbols, StartState start = StartState::recorded);

  // The recorded addresses are free for others until they are taken back; the copies stay. Failures: those of create(), after
  // which it can be tried again.
  void give_addresses_up();
  Status take_addresses();

  // For another process; see mneme::share_copies(). `no_mask`: why there is none, where it was looked for.
  Result<SharedCopies> share_copies(const std::string& no_mask);

  ExpectedMemory& expected() { return *expected_; }
  const RecordedCopies& copies() const { return copies_; }

 private:
  friend class RestoredRun;
  using Extent = RestoredRun::Extent;

  PreparedMemory(const Database& database, const InstanceRecord& instance, const MemoryPlan& plan, Device& device, Stream& stream)
      : database_(database), instance_(instance), plan_(plan), device_(device), stream_(stream) {}
  Status make_copies(const PrepareProgress& progress);
  Status attach_copies();
  Status read_symbol_states();
  Status note_masked_symbols();
  Status hash_all();
  Status put_back(const SymbolPlaces& symbols, StartState start, Extent extent);
  Status put_everything_back();
  // Ordered in the stream: compares hashes of all of it, and the globals at `symbols`, with what was recorded.
  Status start_check(const SymbolPlaces& symbols);
  Status repair();

  struct SymbolState {
    ByteVector prologue, epilogue;
    DeviceBuffer pristine, expected;  // the same in device memory
    Bytes offset;                     // in what is masked
    bool masked = false;
  };

  const Database& database_;
  const InstanceRecord& instance_;
  const MemoryPlan& plan_;
  Device& device_;
  Stream& stream_;
  std::optional<RecordedAddresses> addresses_;
  std::vector<MemoryRange> changed_;
  ByteVector masked_symbols_;  // as in copies_, while they are sought
  Bytes masked_symbol_bytes_;
  RecordedCopies copies_;
  MappedCopy before_, after_, masked_;    // of what the kernel changes, and of what is masked too
  std::optional<MappedCopy> everything_;  // before
  std::unique_ptr<ExpectedMemory> expected_;
  DeviceBuffer hashes_;  // of what is there
  uint64_t blocks_ = 0;
  std::vector<DevicePtr> checked_;              // what each comparison that was started is of; null: the hashes
  std::map<std::string, SymbolState> symbols_;  // of regions placed at module symbols
  bool trusted_ = false;                        // no memory outside of the changed blocks may have been written
};

}  // namespace mneme
