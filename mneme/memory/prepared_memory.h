// PreparedMemory: the memory of one recorded launch on a device. It is put back to what it was before the launch as often as
// wanted, and compared with what it was after the launch.
//
// Beside the memory that the kernel works on, the device holds what the recorded kernel changes, once as it was before the
// launch and once as it was after it, and a hash of every block (mapped_copy.h) as it was after it. Where there is room, the
// device also holds all memory as it was before the launch. What a wrong kernel has damaged is put back from there, and else
// from the database.
//
// Used by one thread at a time. Database, instance, plan, device and stream must outlive it.
#pragma once

#include <functional>
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

// What preparing took: taking the recorded addresses, and room for copies; waiting for pages to be read; copying them.
struct PreparationTimes {
  Nanoseconds addresses{}, reading{}, copying{};
};

class PreparedMemory {
 public:
  // Takes the recorded addresses, and has the copies ready that the device is to hold. `copies` that were taken over from
  // another process (import_copies()) are used as they are. Where `copies` has no buffers they are made from the database, so
  // that they can be shared if `copies.shareable` says so. Failures: those of RecordedAddresses::reserve(); the store's;
  // exhausted, with the figures, when the device has not enough memory.
  static Result<std::unique_ptr<PreparedMemory>> create(const Database& database, const InstanceRecord& instance,
                                                        const MemoryPlan& plan, Device& device, Stream& stream,
                                                        const PrepareProgress& progress, RecordedCopies copies = {});
  ~PreparedMemory();
  PreparedMemory(const PreparedMemory&) = delete;
  PreparedMemory& operator=(const PreparedMemory&) = delete;

  // Where `module` has the globals at module symbols. A global that the module lacks is left out if the recorded kernel does
  // not change it and no byte of it is masked. not_found: the module lacks another one. incompatible: a global has another size
  // than the recorded one.
  Result<SymbolPlaces> places_in(Module& module) const;

  // Begins a run: puts back what the recorded kernel changes, or everything where the last run left the memory untrusted
  // (restored_run.h), and the globals at `symbols`. Ordered in the stream; may return before it is done. Several runs may be
  // under way, each with its launches behind those of the run before it.
  Result<RestoredRun> restore(SymbolPlaces symbols, StartState start = StartState::recorded);
  // Does a part of the next restore() now, if that has this start state: puts back all but globals, behind the runs that are
  // under way. take_checks() does not wait for it. What these runs leave cannot be observed then. Nothing is done where the
  // memory is untrusted.
  Status restore_ahead(StartState start);
  // The arguments of the launch: as recorded, but that they name the textures and surfaces that were made for it.
  ByteSpan parameters() const { return parameters_; }
  // Whether the memory that the recorded kernel leaves alone is known to be as it was before the launch. While runs are under
  // way: whether it will be, if their checks find no difference.
  bool trusted() const { return trusted_; }
  // Reads the recorded regions, and the globals at `symbols`, through the device's caches (Stream::read_through()).
  Status read_through(const SymbolPlaces& symbols);

  // Keeps what memory holds now as what StartState::masked puts back: in `blocks`, and in the blocks that the recorded kernel
  // changes. `masked_bytes` is how many bytes of it are masked. exhausted: the device has no room for it.
  Status keep_masked(const std::vector<MemoryRange>& blocks, Bytes masked_bytes);
  // The same for globals at module symbols, in two steps. mask_symbols() masks every byte of the globals `names`, at least one,
  // which the recorded kernel writes and does not read. The caller then runs the recorded kernel from StartState::masked.
  // keep_masked_symbols() reads the globals where the run had them (`now`) and takes those bytes out of the mask that are not
  // as recorded. forget_masked_symbols() undoes both.
  Status mask_symbols(const std::set<std::string>& names);
  Status keep_masked_symbols(const std::set<std::string>& names, const SymbolPlaces& now);
  void forget_masked_symbols();
  // Whether StartState::masked differs from StartState::recorded, and in how many bytes.
  bool has_masked() const { return copies_.masked || copies_.masked_symbols; }
  Bytes masked_bytes() const { return copies_.masked_bytes; }
  // Calls `see` with what pages hold when a run starts from StartState::masked, at least for those in which a byte is masked:
  // with the region's index in the plan, the page's in the region, and its bytes. A failure of `see` ends it. Waits for the
  // stream; the memory is untrusted then.
  using SeePage = std::function<Status(size_t region, size_t page, ByteSpan content)>;
  Status read_masked(const SeePage& see);

  // Waits for the stream, and returns what each RestoredRun::check_later() since the last call has found, in the order of the
  // calls. On failure the results are lost, and the memory is untrusted.
  Result<std::vector<CheckedRun>> take_checks();
  // Drops the checks that were started. The memory is then untrusted, as after a run that was not checked.
  void forget_checks();

  // What a run that began with `start` has left, next to what was recorded. `symbols` are those of the run.
  Result<RunMemory> observe(const SymbolPlaces& symbols, StartState start = StartState::recorded);

  // give_addresses_up() frees the recorded addresses for others, and with them the memory that kernels work on; the copies
  // stay. take_addresses() takes them again, and the memory is then untrusted. Its failures are those of
  // RecordedAddresses::reserve(); it can be tried again.
  void give_addresses_up();
  Status take_addresses();

  // Makes the copies ready to be taken over by another process, as mneme::share_copies() does. `no_mask` says why no byte is
  // masked, where a mask was looked for and none was found; else it is empty.
  Result<SharedCopies> share_copies(const std::string& no_mask);

  // The memory as it was recorded after the launch.
  ExpectedMemory& expected() { return *expected_; }
  const RecordedCopies& copies() const { return copies_; }
  const PreparationTimes& times() const { return times_; }

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
  Status put_memory_back(StartState start, Extent extent);
  Status put_globals_back(const SymbolPlaces& symbols, StartState start);
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
  std::unique_ptr<DeviceTextures> textures_;  // null: the launch has none
  ByteVector parameters_;
  std::vector<MemoryRange> spans_;  // in the plan's order
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
  PreparationTimes times_;
  bool trusted_ = false;  // no memory outside of the changed blocks may have been written
  std::optional<StartState> restored_ahead_;
};

}  // namespace mneme
