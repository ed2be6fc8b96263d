// The types that the sources of Recorder share. Not for other files.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mneme/record/captured_textures.h"
#include "mneme/record/pageable_pages.h"
#include "mneme/record/recorder.h"
#include "mneme/store/commit_group.h"

namespace mneme {

// What waits to be stored has a half of its memory before it is written, and a half then.
inline Bytes half(Bytes memory) { return Bytes(memory.count / 2); }

inline ProgramShape shape_of(const InstanceRecord& instance) {
  return {instance.grid, instance.block, instance.dynamic_shared_memory, instance.cooperative, instance.cluster};
}

// A launch counts as being stored while one lives. A process that is killed meanwhile leaves it so.
class Storing {
 public:
  explicit Storing(RecordingReport* report) : report_(report) {
    if (report_) ++report_->storing;
  }
  ~Storing() {
    if (report_) --report_->storing;
  }
  Storing(const Storing&) = delete;
  Storing& operator=(const Storing&) = delete;

 private:
  RecordingReport* report_;
};

// Adds the time of its life to a count of nanoseconds in the report.
class Timed {
 public:
  using Clock = std::chrono::steady_clock;
  Timed(RecordingReport* report, std::atomic<uint64_t> RecordingReport::* sum) : sum_(report ? &(report->*sum) : nullptr) {}
  ~Timed() {
    if (sum_) *sum_ += static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::atomic<uint64_t>* sum_;
  const Clock::time_point begin_ = Clock::now();
};

// Everything that exists once the device is open. Destroyed in reverse order.
struct Recorder::Opened {
  int ordinal = 0;
  std::shared_ptr<Device> device;
  std::shared_ptr<AddressSpace> space;
  std::shared_ptr<Stream> stream;  // for captures
  std::shared_ptr<Database> database;
  std::unique_ptr<StateCapture> states;  // used by the capturing thread only
  PageablePages pageable;                // likewise
  CaptureHistory history;                // likewise where digests are waited for, else by who commits
  uint64_t removals = 0;                 // Database::removals(), likewise
  uint64_t losses = 0;                   // Recorder::losses_ when the states were last forgotten for it
};

// Of a device where nothing is recorded, from its opening to its reset.
struct Recorder::Profiled {
  std::unique_ptr<Device> device;
  std::unique_ptr<Profile> profile;
  std::string writer;  // in the ProfileFile
  std::mutex telling;
};

struct Recorder::Capture {
  std::shared_ptr<const RecordableKernel> kernel;
  std::shared_ptr<Opened> opened;
  Vendor& vendor;
  StateCapture::Memory memory{};
  CapturedTextures textures{};
  uint64_t host_removals = 0;        // HostMemory::removals() when it was listed
  CapturedMemory before{}, after{};  // outlive the publication, which fills their digests in
  std::unique_ptr<Publication> publication{};
  Recording recording{};  // without the code
  std::shared_ptr<const RecordedCode> code{};
  Selection::Claim claim{};  // refers to the kernel's counts
  bool idle = true;          // whether the device had nothing to do when it was last waited for
};

// What is left to be stored of a launch that was captured. It is done by the commit queue.
struct Recorder::Captured {
  std::shared_ptr<const RecordableKernel> kernel;
  std::shared_ptr<Opened> opened;  // has the database, which outlives the publication
  Bytes memory;                    // that the launch was recorded with
  Bytes size_in_queue;             // of what is held until it is stored, but the pages
  Recording recording;             // with the code once it is being written
  std::shared_ptr<const RecordedCode> code;
  CapturedMemory before, after;  // as in Capture
  std::unique_ptr<Publication> publication;
  Selection::Claim claim;
  Storing storing;
};

// Launches whose files are written and not yet synced.
struct Recorder::Group {
  std::shared_ptr<Database> database;  // outlives the group of commits
  std::unique_ptr<CommitGroup> commits;
  std::vector<std::shared_ptr<Captured>> captured{};
};

// The group that launches are added to, and the one before it, for which the disk is waited for meanwhile. So a launch is
// written, and safe from the end of the process, as soon as its pages are, however slow the disk.
struct Recorder::Groups {
  std::mutex mutex;                     // over the next ones, but what is in `ending`
  std::condition_variable changed;      // what a group that is to be ended waits for
  std::shared_ptr<Group> open, ending;  // null: none
  bool end_asked = false;               // somebody will end the open group
  size_t waiters = 0;                   // who wait for groups to be ended
  // When the last group was ended, and when the open one was last added to.
  std::chrono::steady_clock::time_point ended{}, added{};
  std::atomic<size_t> launches = 0;   // in the open group
  std::atomic<uint64_t> bytes = 0;    // that these hold
  std::atomic<bool> at_once = false;  // a launch waits until it is stored

  // Whether the recording need not wait for the end of these. Under the mutex.
  bool fits(const Recording& recording) const;
  // Whether the next launch is to wait until the open group is being ended. `memory` is what it may hold.
  bool is_full(Bytes memory) const;

  // While one lives no group waits for more launches before it is ended.
  class Waiter {
   public:
    explicit Waiter(Groups& groups);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    Groups& groups_;
  };
};

}  // namespace mneme
