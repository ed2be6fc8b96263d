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
#include "mneme/replay/expected_memory.h"
#include "mneme/replay/mapped_copy.h"
#include "mneme/replay/memory_plan.h"
#include "mneme/replay/page_upload.h"
#include "mneme/replay/recorded_addresses.h"
#include "mneme/replay/recorded_copies.h"
#include "mneme/replay/run_memory.h"
#include "mneme/replay/shared_copies.h"
#include "mneme/replay/verification.h"
#include "mneme/store/database.h"

namespace mneme {

// Where a loaded module has each global that lies at a module symbol; those that the code no longer has are left out.
using SymbolPlaces = std::map<std::string, DevicePtr>;

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

  // Puts back what the recorded kernel changes, or everything after distrust(). Ordered in the stream; may return before it is
  // done.
  enum class From { recorded, poisoned };
  Status restore(const SymbolPlaces& symbols, From from = From::recorded);
  // Memory that the recorded kernel leaves alone may have been written.
  void distrust() { restore_everything_ = true; }
  // It has been put back, and what has run since is checked.
  void trust() { restore_everything_ = false; }
  // Reads all of it through the device's caches.
  Status read_through(const SymbolPlaces& symbols);

  // What is in these blocks now is what From::poisoned puts back there. exhausted.
  Status keep_poisoned(const std::vector<MappedRun>& blocks, Bytes poisoned_bytes);
  // The same for globals at module symbols that the recorded kernel writes and does not read, all of which are made wrong: it is
  // run from there by the caller, and what it leaves wrong is then taken out, where `now` has them.
  Status poison_symbols(const std::set<std::string>& names);
  Status keep_poisoned_symbols(const std::set<std::string>& names, const SymbolPlaces& now);
  void forget_poisoned_symbols();
  bool has_poisoned() const { return copies_.poisoned || copies_.poisoned_symbols; }
  Bytes poisoned_bytes() const { return copies_.poisoned_bytes; }

  // Starts a comparison of all of it with what was recorded, by hashes; ordered in the stream.
  Status check_later(const SymbolPlaces& symbols);
  struct Check {
    bool equal = false;
    DevicePtr first;  // block, or global, that is not equal
  };
  // Waits for the stream, and gives the result of each check_later since the last call.
  Result<std::vector<Check>> take_checks();

  // Nobody wants what was started.
  void forget_checks();

  // What is there now, beside what was recorded, of a run that started `from` there.
  Result<RunMemory> observe(const SymbolPlaces& symbols, From from = From::recorded);
  // The verdict on what is there now, after a check of it that was taken. Trusts the memory again when no byte differs.
  Result<Verification> judge(const Check& check, const SymbolPlaces& symbols, const std::vector<ToleratedRange>& tolerated);
  // Checks and judges.
  Result<Verification> verify(const SymbolPlaces& symbols, const std::vector<ToleratedRange>& tolerated);

  // The recorded addresses are free for others until they are taken back; the copies stay. Failures: those of create(), after
  // which it can be tried again.
  void give_addresses_up();
  Status take_addresses();

  // For another process; see mneme::share_copies(). `no_poison`: why there is none, where it was looked for.
  Result<SharedCopies> share_copies(const std::string& no_poison);

  ExpectedMemory& expected() { return *expected_; }
  const RecordedCopies& copies() const { return copies_; }

 private:
  PreparedMemory(const Database& database, const InstanceRecord& instance, const MemoryPlan& plan, Device& device, Stream& stream)
      : database_(database), instance_(instance), plan_(plan), device_(device), stream_(stream) {}
  Status make_copies(const PrepareProgress& progress);
  Status attach_copies();
  Status read_symbol_states();
  Status note_poisoned_symbols();
  Status hash_all();
  Status put_everything_back();
  Status repair();

  struct SymbolState {
    ByteVector prologue, epilogue;
    DeviceBuffer pristine, expected;  // the same in device memory
    Bytes offset;                     // in what is poisoned
    bool poisoned = false;
  };

  const Database& database_;
  const InstanceRecord& instance_;
  const MemoryPlan& plan_;
  Device& device_;
  Stream& stream_;
  std::optional<RecordedAddresses> addresses_;
  std::vector<MappedRun> changed_;
  ByteVector poisoned_symbols_;  // as in copies_, while they are sought
  Bytes poisoned_symbol_bytes_;
  RecordedCopies copies_;
  MappedCopy before_, after_, poisoned_;  // of what the kernel changes, and of what is poisoned too
  std::optional<MappedCopy> everything_;  // before
  std::unique_ptr<ExpectedMemory> expected_;
  DeviceBuffer hashes_;  // of what is there
  uint64_t blocks_ = 0;
  std::vector<DevicePtr> checked_;              // what each comparison that was started is of; null: the hashes
  std::map<std::string, SymbolState> symbols_;  // of regions placed at module symbols
  bool restore_everything_ = true;              // memory outside of the changed blocks may have been written
};

}  // namespace mneme
