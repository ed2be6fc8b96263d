// Storing what was captured: launches are written in their order, and groups of them are listed when the disk has them.
#include <algorithm>
#include <new>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/record/recorder.h"
#include "mneme/record/recorder_state.h"

namespace mneme {
namespace {

// How long after another one a group is ended at the latest, and how long after the last launch that it was given.
constexpr std::chrono::milliseconds kBetweenGroups{100}, kQuiet{20};

}  // namespace

// Gives the recording the kernel's code, and has the publication look at it.
Status Recorder::take_code(Captured& captured) {
  captured.recording.ir = captured.code->ir;
  captured.recording.images = captured.code->images;
  return captured.publication->check(captured.recording);
}

// Of a launch that went on before its digests were known. False: the database has the instance, and now, too, what the launch
// has left in memory, which may be another thing than what was recorded, and on which later launches count.
Result<bool> Recorder::decide(Captured& captured) {
  // While its pages are digested.
  Status checked;
  bool no_memory = false;
  try {
    checked = take_code(captured);
  } catch (const std::bad_alloc&) {
    no_memory = true;
  }
  const Status digested = captured.publication->wait();
  // In any case: later ones are changes to these.
  take_digests(*captured.opened, captured.before, captured.recording.prologue);
  take_digests(*captured.opened, captured.after, captured.recording.epilogue);
  MNEME_TRY(digested);
  MNEME_TRY(checked);
  if (no_memory) throw std::bad_alloc();
  InstanceRecord& instance = captured.recording.instance;
  instance.dynamic_hash = dynamic_hash(instance, captured.recording.prologue, captured.kernel->record.level);
  if (std::unique_lock lock(commit_groups_->mutex); !commit_groups_->fits(captured.recording)) {
    lock.unlock();
    end_groups();
  }
  MNEME_ASSIGN(const bool is_known, is_recorded(*captured.opened->database, *captured.kernel, instance));
  if (!is_known) return true;
  captured.claim.keep();
  MNEME_TRY(captured.publication->keep_pages());
  return false;
}

// Adds the launch to the group. False: there was nothing to record.
Result<bool> Recorder::write(const std::shared_ptr<Captured>& captured) {
  try {
    if (decides_first_) {
      MNEME_TRY(take_code(*captured));
    } else {
      MNEME_ASSIGN(const bool is_new, decide(*captured));
      if (!is_new) return false;
    }
    const std::shared_ptr<Database>& database = captured->opened->database;
    // While its pages are stored.
    MNEME_TRY(captured->publication->prepare(captured->recording));
    // Before others wait for the mutex.
    MNEME_TRY(captured->publication->settle());
    Groups& groups = *commit_groups_;
    std::unique_lock lock(groups.mutex);
    // Only here launches are added: after the end there is no group.
    if (!groups.fits(captured->recording) || (groups.open && groups.open->database != database) ||
        (groups.ending && groups.ending->database != database)) {
      lock.unlock();
      end_groups();
      lock.lock();
    }
    if (!groups.open) {
      const CommitGroup* before = groups.ending ? groups.ending->commits.get() : nullptr;
      groups.open = std::make_shared<Group>(Group{database, database->begin_group(before)});
    }
    Group& group = *groups.open;
    group.captured.reserve(group.captured.size() + 1);
    MNEME_TRY(group.commits->add(*captured->publication, captured->recording));
    group.captured.push_back(captured);
    ++groups.launches;
    groups.bytes += captured->size_in_queue.count;
    groups.added = std::chrono::steady_clock::now();
    groups.changed.notify_all();
    return true;
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "there is no memory to store a launch with");
  }
}

// On any thread, when the program has gone on. What could be written is stored when the group ends.
void Recorder::commit(const std::shared_ptr<Captured>& captured) {
  const Timed timed(environment_.report, &RecordingReport::committing);
  const Result<bool> written = write(captured);
  if (!written.ok()) {
    count(failed_commit(*captured, written.status()), captured->kernel->display_name());
  } else if (*written) {
    return;
  }
  std::lock_guard lock(mutex_);
  if (written.ok()) written_ += captured->publication->written().count;
  in_flight_.erase({captured->recording.instance.static_hash, captured->recording.instance.dynamic_hash});
}

bool Recorder::Groups::fits(const Recording& recording) const {
  for (const auto& group : {open, ending})
    if (group && !std::ranges::all_of(group->captured, [&](const std::shared_ptr<Captured>& captured) {
          return CommitGroup::fit(captured->recording, recording);
        }))
      return false;
  return true;
}

bool Recorder::Groups::is_full(Bytes memory) const {
  return launches >= CommitQueue::Most::of_process().in_group || bytes > memory.count;
}

Recorder::Groups::Waiter::Waiter(Groups& groups) : groups_(groups) {
  {
    const std::lock_guard lock(groups_.mutex);
    ++groups_.waiters;
  }
  groups_.changed.notify_all();
}

Recorder::Groups::Waiter::~Waiter() {
  const std::lock_guard lock(groups_.mutex);
  --groups_.waiters;
}

// On the thread that adds to the open group. It goes on adding while the group before it is being ended.
void Recorder::end_group() {
  {
    std::lock_guard lock(commit_groups_->mutex);
    if (!commit_groups_->open || std::exchange(commit_groups_->end_asked, true)) return;
  }
  endings_.add({}, [this] { finish_group(); });
}

void Recorder::end_groups() {
  const Groups::Waiter waiter(*commit_groups_);
  end_group();
  endings_.wait();
}

// A disk that is always being synced makes files slowly, which each launch needs. So where launches come one after another, a
// group waits for them for some time, or until it is full. They lose nothing by that: those in it are written.
void Recorder::finish_group() {
  Groups& groups = *commit_groups_;
  {
    std::unique_lock lock(groups.mutex);
    const auto is_wanted = [&] { return groups.at_once || groups.waiters != 0 || groups.is_full(half(staging_.queue)); };
    const auto end = [&] { return std::min(groups.ended + kBetweenGroups, groups.added + kQuiet); };
    while (!is_wanted() && std::chrono::steady_clock::now() < end()) groups.changed.wait_until(lock, end());
    groups.end_asked = false;
    groups.ending = std::exchange(groups.open, nullptr);
    groups.launches = groups.bytes = 0;
    if (!groups.ending) return;
  }
  const Timed timed(environment_.report, &RecordingReport::committing);
  Group& group = *groups.ending;  // which nobody else changes
  std::vector<Status> statuses(group.captured.size(), error(Code::exhausted, "there is no memory to store a launch with"));
  try {
    statuses = group.commits->finish();
  } catch (const std::bad_alloc&) {
  }
  for (size_t i = 0; i < statuses.size(); ++i) count_stored(*group.captured[i], statuses[i]);
  std::shared_ptr<Group> ended;
  std::lock_guard lock(groups.mutex);
  ended = std::exchange(groups.ending, nullptr);
  groups.ended = std::chrono::steady_clock::now();
}

// A launch waits until no more than may be in flight is not written, and where the disk is slower than the program, so that what
// is not synced yet is not more than before. Meanwhile this thread helps to write.
void Recorder::wait_for_room() {
  if (!commits_.has_room()) {
    const WriterThreads::Hurry hurry(*writers_);
    while (!commits_.has_room() && writers_->help(WriterThreads::Order::later)) {
    }
    commits_.wait_for_room();
  }
  const bool at_once = commit_groups_->at_once;
  if (!at_once && !commit_groups_->is_full(half(staging_.queue))) return;
  const Groups::Waiter waiter(*commit_groups_);
  if (at_once)
    endings_.wait();
  else
    endings_.wait_for_room();
}

void Recorder::wait_until_stored() {
  const Groups::Waiter waiter(*commit_groups_);
  commits_.wait();
  endings_.wait();
}

void Recorder::count_stored(Captured& captured, const Status& status) {
  const InstanceRecord& instance = captured.recording.instance;
  if (status.ok()) {
    captured.claim.keep();
    captured.kernel->counts->remember(instance.dynamic_hash, shape_of(instance));
    log::debug("recorded {} as {}: {} of memory, {} written", captured.kernel->display_name(), instance.dynamic_hash.hex(),
               instance.state_bytes, captured.publication->written());
    if (RecordingReport* report = environment_.report) {
      ++report->instances;
      if (!captured.kernel->counts->recorded.exchange(true)) report->count_kernel(instance.static_hash);
      report->state_bytes += instance.state_bytes.count;
      report->database_bytes += captured.publication->written().count;
      report->new_page_bytes += captured.publication->new_content().count;
    }
  } else {
    count(failed_commit(captured, status), captured.kernel->display_name());
  }
  std::lock_guard lock(mutex_);
  if (status.ok()) written_ += captured.publication->written().count;
  in_flight_.erase({instance.static_hash, instance.dynamic_hash});
}

// What the launch is not recorded for. Later captures may count on the pages of this one.
NotRecorded Recorder::failed_commit(Captured& captured, const Status& status) {
  const NotRecorded reason = failure(captured.publication.get(), *captured.kernel, *captured.opened->database,
                                     captured.recording.instance, captured.memory, status);
  if (reason == NotRecorded::damaged_file)
    if (Status kept = captured.publication->keep_pages(); !kept.ok()) end(kept);
  if (reason != NotRecorded::damaged_file || state_ == State::ended) ++losses_;
  return reason;
}

}  // namespace mneme
