// Recorder: owns device memory at fixed addresses, and captures what a launch finds in memory and what it leaves there.
//
// The hooks call it from the application's threads. It never disturbs the application. A failure that concerns one launch or one
// kernel gives up that launch or kernel; any other ends recording, and nothing else: memory that the recorder has handed out
// stays valid and can be freed. The locks that fork() takes (before_fork()) are not held while the vendor's runtime runs.
// Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <vector>

#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/record/annotations.h"
#include "mneme/record/commit_queue.h"
#include "mneme/record/gate.h"
#include "mneme/record/host_memory.h"
#include "mneme/record/launch_attributes.h"
#include "mneme/record/launch_group.h"
#include "mneme/record/outside_memory.h"
#include "mneme/record/pageable_memory.h"
#include "mneme/record/passed_launches.h"
#include "mneme/record/profile.h"
#include "mneme/record/program_textures.h"
#include "mneme/record/recordable_kernel.h"
#include "mneme/record/reserved_addresses.h"
#include "mneme/record/selection.h"
#include "mneme/record/staging_memory.h"
#include "mneme/record/state_capture.h"
#include "mneme/record/vendor.h"
#include "mneme/runtime/registry.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/store/database.h"
#include "mneme/store/writer_threads.h"

namespace mneme {

// One launch as the application asked for it. `arguments` is read by select_launch() only, or by begin_launch() in its
// place.
struct Launch {
  Vendor& vendor;
  const void* function = nullptr;  // the host stub
  Dim3 grid, block;
  Bytes shared;
  bool cooperative = false;
  void* const* arguments = nullptr;      // one pointer for each parameter
  ByteSpan packed{};                     // in place of `arguments`: all of them, as the parameters lie
  std::optional<NotRecorded> refusal{};  // set by the hook, when it sees that this launch cannot be recorded
  std::optional<Digest> known{};         // set by begin_launch(), when the database has this instance already
  Dim3 cluster = kNoCluster;
  LaunchAttributes attributes{};  // others of the launch
  void* stream = nullptr;
  const void* handle = nullptr;  // what the program launches by, where it is not `function`
  ProgramShape shape() const { return {grid, block, shared, cooperative, cluster}; }
};

class Recorder {
 public:
  using OpenDevice = std::function<Result<std::unique_ptr<Device>>(DeviceKind kind, int ordinal)>;
  struct Environment {
    OpenDevice open_device = [](DeviceKind kind, int ordinal) { return Device::open(kind, ordinal); };
    FileSystem* files = &FileSystem::posix();
    std::function<void()> recording_begins = [] {};                 // called when the device is opened
    RecordingReport* report = nullptr;                              // outlives the recorder; null: nothing is reported
    std::chrono::milliseconds patience = std::chrono::seconds(10);  // how long threads wait for each other, see Gate
    DevicePtr first_space = kDefaultAddressSpaceBase;               // of device 0; tests move it out of a sanitizer's way
    LockPatience lock_patience{};                                   // how long to wait for the database's lock
  };
  // `options_status` says whether the options could be read. If they could not, or are wrong, recording has ended from the start.
  Recorder(RecordingOptions options, Environment environment, Status options_status = {});
  ~Recorder();

  Registry& registry() { return registry_; }
  Gate& gate() { return gate_; }
  HostMemory& host_memory() { return host_memory_; }
  OutsideMemory& outside_memory() { return outside_memory_; }
  ReservedAddresses& reserved_addresses() { return reserved_addresses_; }
  ProgramTextures& textures() { return textures_; }
  bool is_recording() const { return state_ != State::ended && !profiles_only(); }
  RecordingReport* report() const { return environment_.report; }  // null: nothing is reported

  // Allocates memory for the application in the range of the current device, which the first call opens. Three outcomes:
  //   - an address: the memory is the recorder's;
  //   - nothing: the recorder does not serve this allocation. The hook asks the vendor for it, and calls remember_foreign();
  //   - a failure, which does not end recording yet: the hook asks the vendor. Only when the vendor has the memory, it calls
  //     failed_allocation(), which ends recording.
  Result<std::optional<DevicePtr>> allocate(Vendor& vendor, Bytes size);
  void failed_allocation(const Status& status);
  // The device in whose range the address lies; nothing where it lies in none.
  std::optional<int> owner_of(uint64_t address) const;
  bool owns(uint64_t address) const { return owner_of(address).has_value(); }
  // Frees an allocation of the recorder. Waits for the device that it is on first, as the vendor's call does. While a launch or a
  // stream is being captured it does not wait, and the memory is freed later. invalid_argument: no allocation of the recorder
  // starts there.
  Status free(Vendor& vendor, DevicePtr pointer);
  // The same without waiting: the memory is used again once all work is done that the stream was given before.
  Status free_in_stream(Vendor& vendor, DevicePtr pointer, void* stream);
  // Frees what was given to free_in_stream() and is not used any more.
  void finish_frees(Vendor& vendor) { finish_stream_frees(vendor, Patience::none); }
  // Lets kernels of device `reader` reach the recorder's memory on device `owner`: what is allocated, and what will be, until
  // each share() has been taken back by a keep_from().
  void share(int owner, int reader);
  void keep_from(int owner, int reader);
  // Takes back each share() of the device's memory and with the device, which a reset of it does.
  void keep_apart(int device);
  // The allocation of the recorder that holds an address.
  std::optional<MemoryRange> find_allocation(DevicePtr address) const;
  // What AddressSpace::export_allocation() gives for an allocation of the recorder.
  Result<std::vector<ExportedMapping>> export_allocation(DevicePtr address) const;
  bool can_export(DevicePtr address) const;

  // Remembers memory that the recorder does not capture, or an object that stands for some. A launch that is given a pointer into
  // it is not recorded, for `reason`.
  void remember_foreign(uint64_t address, uint64_t size, NotRecorded reason);
  void forget_foreign(uint64_t address);

  // Takes an annotation of the program (mneme/abi/annotate.h), and keeps it with every instance that is recorded from now on. One
  // that cannot be kept is ignored with a warning.
  void annotate(Vendor& vendor, const void* pointer, uint64_t count, const mneme_annotation& annotation);

  void forget_annotations(const MemoryRange& memory) { annotations_.forget(memory); }

  // To be called before the vendor destroys everything on device `ordinal`. Frees the recorder's memory there and closes its
  // device; the next allocation or launch opens it again. Returns whether other devices are open still.
  bool reset(Vendor& vendor, int ordinal);
  // To be called when the vendor has destroyed what was made in the context that the recorder works in, and nothing else on the
  // device: memory of the recorder is still there.
  void renew(Vendor& vendor, int ordinal);
  // Waits for all work of the program on the current device, and on those that are recorded.
  Status wait_for_devices(Vendor& vendor) const { return wait_for(vendor, devices_in_use(vendor)); }
  // To be called when an image is unregistered: forgets what was read of kernels, which may be the image's.
  void forget_kernels();

  // Which streams are being captured, by the stream that the capture began in: meanwhile nothing waits for the device. A stream
  // that is destroyed ends its capture.
  void begin_stream_capture(const void* stream);
  void end_stream_capture(const void* stream);
  void forget_stream(const void* stream);
  bool in_stream_capture() const { return stream_captures_ > 0; }

  // Decides whether a launch is recorded, and captures the memory before it. Null: the launch passes through and is not recorded;
  // the report has counted it, with the reason or as one that the database has already. Otherwise this thread must launch the
  // kernel next, and then call end_launch(), which captures the memory after it and publishes the instance.
  struct Capture;
  struct DeleteCapture {
    void operator()(Capture* capture) const;
  };
  using CapturePtr = std::unique_ptr<Capture, DeleteCapture>;
  CapturePtr begin_launch(Launch& launch);
  void end_launch(CapturePtr capture, bool launched);
  // What begin_launch() has found of launches by that handle: each of them is to be counted (PassedLaunch::count()) and made
  // within a Gate::Use, and nothing else is to be done for it. Null: begin_launch() decides.
  const PassedLaunch* find_passed(const void* handle) const { return passed_.find(handle, selection_.changes()); }

  // The same in two steps, for launches of which several are decided on before the first is made. select_launch() counts and
  // decides as begin_launch() does, and captures nothing yet. What it gives is to be handed to begin_launch() right before that
  // launch, or to pass() with the reason why it is not recorded after all.
  CapturePtr select_launch(const Launch& launch, LaunchGroup* group = nullptr);
  CapturePtr begin_launch(CapturePtr selected, Launch& launch);
  void pass(CapturePtr selected, NotRecorded reason);
  // For a call that makes several launches, and is made again: begin_group() before each of them is given to select_launch() with
  // the group, and keep_group() after the last. If that gives a group, count_group() stands for all of this the next time, until
  // it says false.
  std::shared_ptr<LaunchGroup> begin_group() const { return std::make_shared<LaunchGroup>(selection_.changes()); }
  std::shared_ptr<LaunchGroup> keep_group(std::shared_ptr<LaunchGroup> group, Vendor& vendor);
  bool count_group(LaunchGroup& group);
  bool is_current(const LaunchGroup& group) const;  // what count_group() would say
  // Waits until the current device has nothing to do, for no longer than a capture would. Otherwise what a launch is not recorded
  // for.
  std::optional<NotRecorded> wait_for_device(Vendor& vendor) const;

  // Who places the device memory that the program allocates: the recorder as long as it records, unless it is told otherwise.
  MemoryFrom memory_from() const { return is_recording() ? options_.memory_from : MemoryFrom::recorder; }

  // Whether this is `mneme profile`: launches are timed, and nothing is recorded. No memory is the recorder's then.
  bool profiles_only() const { return options_.profile_file >= 0; }

  // Time one launch for --profile, and on the CPU device always. To be called between begin_launch() and end_launch(), before and
  // after the vendor's call. begin_timing() gives nothing when the launch is not timed: without a profile, or when the kernel is
  // not selected, when the launch goes into a graph or to another device, and right after a launch for which memory was read.
  struct Profiled;
  struct Timing {
    LaunchTag tag;
    std::shared_ptr<Profiled> on;  // where launches are profiled only
  };
  std::optional<Timing> begin_timing(const Launch& launch, const Capture* capture, void* stream);
  void end_timing(const std::optional<Timing>& timed, bool launched);
  // Where launches are profiled only: whether one that a graph makes is to be timed, which takes a run of the graph in parts; and
  // counts one that was made and is not timed, in the group that it belongs to.
  bool is_sample(const Launch& launch, LaunchGroup& group);
  void count_untimed(const Launch& launch, LaunchGroup& group);
  // Waits until every launch that was captured is stored. Later ones are stored before end_launch() returns. Writes how often and
  // how long recorded shapes ran into the database, or the profile to where `mneme profile` finds it. To be called at the
  // process's exit, while the vendor's runtime still works.
  void finish();
  // Waits for what is being stored.
  void wait_until_stored();
  // Waits until all that was captured so far is listed even if the process is killed, by who opens the database next.
  void wait_until_written() { commits_.wait(); }

  // To be called around fork(), so that the child finds no lock taken and shares no file that is being written. The child has no
  // device: recording ends there, and every launch passes through.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct Opened;
  struct Captured;
  struct Group;
  struct Groups;
  enum class State { waiting, open, ended };

  std::set<int> devices_in_use(Vendor& vendor) const;
  static Status wait_for(Vendor& vendor, const std::set<int>& ordinals);
  Status open(Vendor& vendor);
  Status open_for_profile(Vendor& vendor);
  Result<std::shared_ptr<Profiled>> open_profiled(Vendor& vendor, int ordinal);
  Result<std::shared_ptr<Opened>> open_device(Vendor& vendor, int ordinal);
  Result<std::shared_ptr<Opened>> current_device(Vendor& vendor);
  std::shared_ptr<Opened> opened_on(std::optional<int> ordinal) const;
  std::vector<std::shared_ptr<Opened>> all_opened() const;
  void take_access(int owner, int reader);
  Status choose_images(const Device& device);
  static bool goes_into_graph(const Launch& launch) { return launch.refusal == NotRecorded::stream_capture; }
  void end(const Status& status);
  void count(NotRecorded reason, const std::string& kernel);
  std::shared_ptr<const RecordableKernel> find_kernel(const void* function, Vendor& vendor);
  std::optional<NotRecorded> select(const std::shared_ptr<const RecordableKernel>& found, const Launch& launch, uint64_t position,
                                    LaunchGroup* group);
  CapturePtr select_or_count(const Launch& launch, LaunchGroup* group);
  void keep_passed(const Launch& launch, const RecordableKernel& kernel, NotRecorded reason, uint64_t decision);
  void count_shapes_of_groups();
  std::optional<NotRecorded> find_foreign(ByteSpan parameters, int ordinal) const;
  bool is_pageable(DevicePtr address, const Opened& opened, Vendor& vendor);
  bool is_given_pageable(const RecordableKernel& kernel, ByteSpan parameters, const Opened& opened, Vendor& vendor);
  bool holds_pageable(const RecordableKernel& kernel, ByteSpan parameters, const Opened& opened, Vendor& vendor);
  Status read_memory(Capture& capture, CapturedMemory& found);
  static Status take_code(Captured& captured);
  void tell_cost(const StateCapture::Cost& before, const StateCapture::Cost& after);
  Status wait_for_digests(Capture& capture);
  Result<bool> is_recorded(Database& database, const RecordableKernel& kernel, const InstanceRecord& instance);
  static void take_digests(Opened& opened, const CapturedMemory& captured, MemoryState& state);
  Result<bool> decide(Captured& captured);
  Result<bool> write(const std::shared_ptr<Captured>& captured);
  std::optional<NotRecorded> choose_textures(Capture& capture);
  Result<std::vector<CapturedGlobal>> find_globals(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor);
  bool is_given_unknown_memory(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor);
  enum class Patience { none, wait };
  void finish_stream_frees(Vendor& vendor, Patience patience);
  std::optional<MemoryRange> find_memory(DevicePtr address) const;
  std::optional<MemoryRange> find_variable(Vendor& vendor, DevicePtr address) const;
  const Registry& variables_of(const Vendor& vendor) const;
  std::vector<Annotation> annotations_of(Vendor& vendor, const MemoryState& state) const;
  InstanceRecord describe_instance(const RecordableKernel& kernel, const Launch& launch, ByteVector parameters) const;
  Result<bool> capture_prologue(Capture& capture);
  enum class Waited { idle, failed, running };
  Waited wait_for_devices(Vendor& vendor, bool kernels_reach_host) const;
  Waited wait_for_devices(const Capture& capture) const;
  static bool managed_variables_lie_right(const Capture& capture);
  bool kernels_reach_host() const;
  StateCapture::Memory whole_memory(const Opened& opened);
  MemoryExtent extent_of(const RecordableKernel& kernel) const;
  Bytes least_memory(const Opened& opened, const RecordableKernel& kernel, ByteSpan parameters);
  std::optional<NotRecorded> refuses(Bytes memory);
  Status keep_reachable(Capture& capture);
  Status note_pageable(Capture& capture);
  Status capture_epilogue(Capture& capture);
  Status hand_over(Capture& capture);
  void commit(const std::shared_ptr<Captured>& captured);
  void end_group();
  void end_groups();
  void finish_group();
  void wait_for_room();
  void count_stored(Captured& captured, const Status& status);
  bool disk_is_short() const;
  bool is_in_flight(const InstanceRecord& instance);
  NotRecorded failed_commit(Captured& captured, const Status& status);
  std::shared_ptr<Profile> current_profile();
  static Profile::Launched launched_only(const ProgramShape& shape, const RecordableKernel* kernel);
  std::optional<Timing> begin_timing_only(const Launch& launch, void* stream);
  std::shared_ptr<Profiled> current_profiled(Vendor& vendor);
  std::shared_ptr<Profiled> any_profiled(Vendor& vendor);
  void end_timing_only(const Timing& timed, bool launched);
  void tell_counts();
  void tell_profiles_when_due();
  void tell_profiles();
  void tell_profile(Profiled& profiled);
  std::optional<ShapeLaunches> launches_of(const KernelCounts& counts, const Profile::Instance& instance,
                                           const ProgramShape& shape);
  bool finish_times(Database& database, Profile& profile);
  void finish_launches(Database& database);
  void release(Capture& capture);
  void free_deferred(int ordinal);
  void give_up(Capture& capture, NotRecorded reason);
  void abandon(Capture& capture);
  static bool concerns_one_kernel(Database& database, const InstanceRecord& instance, const Status& status);
  NotRecorded failure(const Publication* publication, const RecordableKernel& kernel, Database& database,
                      const InstanceRecord& instance, Bytes memory, const Status& status);
  void fail(Capture& capture, const Status& status);

  const RecordingOptions options_;
  const Environment environment_;
  Selection selection_{options_};
  PassedLaunches passed_;
  Registry registry_;
  Gate gate_;
  HostMemory host_memory_;
  OutsideMemory outside_memory_;
  PageableMemory pageable_memory_{environment_.first_space};
  std::atomic<bool> pageable_was_given_ = false;  // to a launch, which passed through
  ReservedAddresses reserved_addresses_;
  ProgramTextures textures_;
  Annotations annotations_;
  Annotations shadows_;  // annotations of variables, at the addresses that the variables have on the host
  std::atomic<State> state_ = State::waiting;
  std::atomic<size_t> stream_captures_ = 0;    // how many capturing_ has
  std::atomic<bool> memory_was_read_ = false;  // since a launch was last looked at for timing, or before that one
  std::shared_ptr<Profile> profile_;           // under mutex_; null where launches are not timed
  std::atomic<bool> has_profile_ = false;      // whether there is one
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  // How long after the begin the profiles are told again: a tenth later each time, so that little is lost of a program that is
  // killed, and little time with telling.
  std::atomic<std::chrono::steady_clock::duration> profiles_due_ =
      std::chrono::steady_clock::duration(std::chrono::milliseconds(250));
  std::array<std::atomic<uint64_t>, kMostAddressSpaces> space_sizes_{};  // of each device's range; 0: there is none
  // Held by the one thread that opens a device, or that changes which devices reach another one's memory.
  std::mutex open_mutex_;

  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<Opened>> opened_;  // devices by their ordinals; null: it could not be opened, and is not recorded
  // Of devices that have been renewed. The vendor may not be asked to destroy them.
  std::vector<std::pair<std::shared_ptr<Device>, std::shared_ptr<Stream>>> superseded_;
  std::multiset<const void*> capturing_;       // per-thread streams have one name
  std::shared_ptr<Database> database_;         // of all devices
  std::string architecture_;                   // of all devices
  std::map<int, std::multiset<int>> readers_;  // of a device's memory: other devices, as often as the program has shared it
  RangeMap<NotRecorded> foreign_;  // memory that is not the recorder's, and why a launch that is given it is not recorded
  struct Freed {
    std::shared_ptr<Opened> opened;  // whose memory it was
    DevicePtr pointer;
    void* event = nullptr;  // of a stream
  };
  std::vector<Freed> deferred_;      // to be freed when no capture is going on
  std::vector<Freed> stream_frees_;  // to be freed when their events have happened
  std::map<Digest, std::shared_ptr<KernelCounts>> counts_;
  struct KeptGroup {
    std::shared_ptr<LaunchGroup> group;
    std::shared_ptr<Profiled> profiled;  // where nothing is recorded
  };
  std::vector<KeptGroup> groups_;
  std::map<int, std::shared_ptr<Profiled>> profiled_;  // devices where nothing is recorded; null: it could not be opened
  std::set<std::pair<Digest, Digest>> in_flight_;      // instances that the commit queue has, by static and dynamic hash
  uint64_t written_ = 0;                               // bytes added to the database
  uint64_t too_large_ = ~uint64_t{0};                  // the least memory of a launch that went beyond --max-bytes

  std::shared_mutex kernels_mutex_;
  std::unordered_map<const void*, std::shared_ptr<const RecordableKernel>> kernels_;

  const StagingMemory staging_;
  // Whether digests are waited for before the launch, since what comes next depends on whether the database has the instance:
  // which launch is the first of its data, what a time is of, what is left of a limit.
  const bool decides_first_;
  const std::shared_ptr<WriterThreads> writers_;
  std::atomic<uint64_t> losses_ = 0;  // how often pages that captures count on could not be stored
  const std::unique_ptr<Groups> commit_groups_;
  // Destroyed first: what both do needs the rest, and what `commits_` does needs `endings_`.
  CommitQueue endings_;  // of groups: waits for the disk
  CommitQueue commits_;  // writes launches and adds them to the open group, in the order of their captures
};

}  // namespace mneme
