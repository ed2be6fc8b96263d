// Recorder: owns device memory at fixed addresses and captures what a launch sees and leaves behind.
//
// The hooks call it from the application's threads. It never disturbs the application: its first failure ends recording and
// nothing else. Memory that it has handed out stays valid and can be freed. No lock is held while the vendor's runtime runs.
// Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/record/annotations.h"
#include "mneme/record/gate.h"
#include "mneme/record/host_memory.h"
#include "mneme/record/profile.h"
#include "mneme/record/recordable_kernel.h"
#include "mneme/record/state_capture.h"
#include "mneme/record/vendor.h"
#include "mneme/runtime/registry.h"
#include "mneme/snapshot/name_expression.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/store/database.h"

namespace mneme {

// One launch as the application asked for it. Everything is alive during begin_launch only.
struct Launch {
  Vendor& vendor;
  const void* function = nullptr;  // the host stub
  Dim3 grid, block;
  Bytes shared;
  bool cooperative = false;
  void* const* arguments = nullptr;
  std::optional<NotRecorded> refusal;  // what the hook saw that cannot be recorded
  std::optional<Digest> known{};       // begin_launch's: the instance in the database that it turned out to be
};

class Recorder {
 public:
  using OpenDevice = std::function<Result<std::unique_ptr<Device>>(DeviceKind kind, int ordinal)>;
  struct Environment {
    OpenDevice open_device = [](DeviceKind kind, int ordinal) { return Device::open(kind, ordinal); };
    FileSystem* files = &FileSystem::posix();
    std::function<void()> profiling_begins = [] {};                 // called when launches begin to be timed
    RecordingReport* report = nullptr;                              // outlives the recorder; null: nobody is told
    std::chrono::milliseconds patience = std::chrono::seconds(10);  // of threads that wait for each other, see Gate
    LockPatience lock_patience{};                                   // with others who hold the database's lock
  };
  // A recorder whose options are wrong begins ended. `options_status` says so.
  Recorder(RecordingOptions options, Environment environment, Status options_status = {});
  ~Recorder();

  Registry& registry() { return registry_; }
  Gate& gate() { return gate_; }
  HostMemory& host_memory() { return host_memory_; }
  bool is_recording() const { return state_ != State::ended; }

  // Memory of the application, in the reserved range. A failure leaves recording as it is: the hook asks the vendor, and when
  // the vendor has the memory calls failed_allocation. Nothing in the result: the vendor is to be asked, and remember_foreign
  // called.
  Result<std::optional<DevicePtr>> allocate(Vendor& vendor, Bytes size);
  void failed_allocation(const Status& status);
  bool owns(uint64_t address) const;
  // Waits for the device, as the vendor's does. invalid_argument when no allocation of the recorder starts there.
  Status free(Vendor& vendor, DevicePtr pointer);

  // Memory that is not captured, and why a launch that is given a pointer into it is not recorded.
  void remember_foreign(uint64_t address, uint64_t size, NotRecorded reason);
  void forget_foreign(uint64_t address);

  // What the program says of its memory (mneme/abi/annotate.h). Kept with every instance recorded from now on.
  void annotate(Vendor& vendor, const void* pointer, uint64_t count, const mneme_annotation& annotation);

  void forget_annotations(const MemoryRange& memory) { annotations_.forget(memory); }

  // The vendor is about to destroy everything on the device.
  void reset(Vendor& vendor);
  // Images came or went: what was read from them is forgotten.
  void forget_kernels();

  void begin_stream_capture() { ++stream_captures_; }
  void end_stream_capture() { --stream_captures_; }
  bool in_stream_capture() const { return stream_captures_ > 0; }

  // Null when the launch is passed through, which has then been counted with its reason. Otherwise the launch is to follow on
  // this thread, and then end_launch.
  struct Capture;
  struct DeleteCapture {
    void operator()(Capture* capture) const;
  };
  using CapturePtr = std::unique_ptr<Capture, DeleteCapture>;
  CapturePtr begin_launch(Launch& launch);
  void end_launch(CapturePtr capture, bool launched);

  // Between begin_launch and end_launch, around the vendor's call. Nothing when the launch is not timed: without --profile, of a
  // kernel that is not selected, into a graph, on another device, and right after a launch around which memory was read.
  std::optional<LaunchTag> begin_timing(const Launch& launch, const Capture* capture, void* stream);
  void end_timing(std::optional<LaunchTag> timed, bool launched);
  // Writes the times into the database. At the process's exit, while the vendor's runtime still works.
  void finish_profile();

  // In a forked child, which has no device: everything passes through.
  void become_forked_child();
  // Held around fork, so that the child finds no lock taken.
  std::mutex& fork_mutex() { return mutex_; }

 private:
  struct Opened;
  enum class State { waiting, open, ended };

  Status open(Vendor& vendor);
  void end(const Status& status);
  void count(NotRecorded reason, const std::string& kernel);
  std::shared_ptr<const RecordableKernel> find_kernel(const void* function);
  std::optional<NotRecorded> select(const RecordableKernel& kernel, const Launch& launch);
  std::optional<NotRecorded> find_foreign(ByteSpan parameters) const;
  Result<std::vector<CapturedGlobal>> find_globals(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor);
  std::optional<MemoryRange> find_memory(DevicePtr address) const;
  std::optional<MemoryRange> find_variable(Vendor& vendor, DevicePtr address) const;
  std::vector<Annotation> annotations_of(Vendor& vendor, const MemoryState& state) const;
  InstanceRecord describe_instance(const RecordableKernel& kernel, const Launch& launch, ByteVector parameters) const;
  Result<bool> capture_prologue(Capture& capture);
  enum class Waited { idle, failed, running };
  Waited wait_for_device(const Capture& capture) const;
  Bytes state_size(const Opened& opened) const;
  Status publish(Capture& capture);
  std::shared_ptr<Profile> current_profile();
  void release(Capture& capture);
  void give_up(Capture& capture, NotRecorded reason);
  void abandon(Capture& capture);
  bool concerns_one_kernel(const Capture& capture, const Status& status) const;
  void fail(Capture& capture, const Status& status);

  const RecordingOptions options_;
  const Environment environment_;
  std::optional<NameExpression> expression_;
  Registry registry_;
  Gate gate_;
  HostMemory host_memory_;
  Annotations annotations_;
  Annotations shadows_;  // of variables, at the addresses that they have in the program
  std::atomic<State> state_ = State::waiting;
  std::atomic<int> stream_captures_ = 0;
  std::atomic<bool> memory_was_read_ = false;  // around the launch before
  std::shared_ptr<Profile> profile_;           // under mutex_; null without --profile
  std::atomic<uint64_t> space_begin_ = 0, space_end_ = 0;
  std::mutex open_mutex_;           // one thread opens
  std::shared_ptr<Opened> opened_;  // under mutex_

  mutable std::mutex mutex_;
  RangeMap<NotRecorded> foreign_;    // memory that is not the recorder's, and why a launch that is given it is not recorded
  std::vector<DevicePtr> deferred_;  // to be freed when no capture is going on
  std::map<Digest, std::shared_ptr<KernelCounts>> counts_;
  uint64_t written_ = 0;               // to the database
  uint64_t too_large_ = ~uint64_t{0};  // the smallest state that went beyond --max-bytes

  std::shared_mutex kernels_mutex_;
  std::unordered_map<const void*, std::shared_ptr<const RecordableKernel>> kernels_;
};

}  // namespace mneme
