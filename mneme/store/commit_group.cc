#include "mneme/store/commit_group.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/base/pending_file.h"
#include "mneme/store/database_publication.h"
#include "mneme/store/group_listing.h"
#include "mneme/store/unlisted.h"

namespace mneme {
namespace {

Status check_images(const Recording& recording) {
  const std::vector<CodeImageRecord>& records = recording.kernel.images;
  if (records.size() != recording.images.size())
    return error(Code::invalid_argument, "publishing the kernel {}: {} images are recorded, and the bytes of {} are given",
                 recording.kernel.name, records.size(), recording.images.size());
  for (size_t i = 0; i < records.size(); ++i)
    if (records[i].size.count != recording.images[i].size() || records[i].digest != digest_of(recording.images[i]))
      return error(Code::invalid_argument, "publishing the kernel {}: the bytes of image {} are not those that its record names",
                   recording.kernel.name, i);
  return {};
}

std::vector<Digest> digests_in(const MemoryState& state) {
  std::vector<Digest> pages;
  for (const Region& region : state.regions) pages.insert(pages.end(), region.pages.begin(), region.pages.end());
  return pages;
}

}  // namespace

struct CommitGroup::Member {
  DatabasePublication* publication;
  const Recording* recording;
  std::vector<PendingFile> states{};
  Status status{};

  void note(const Status& of_one) {
    if (status.ok()) status = of_one;
  }
};

CommitGroup::CommitGroup(Database::Impl& database, Unfinished unfinished, const CommitGroup* before)
    : database_(database), unfinished_(unfinished), before_(before ? before->shared_ : nullptr) {}
CommitGroup::~CommitGroup() = default;

std::unique_ptr<CommitGroup> Database::begin_group(const CommitGroup* before) {
  return std::make_unique<CommitGroup>(*impl_, CommitGroup::Unfinished::noted, before);
}

bool CommitGroup::fits(const Recording& recording) const {
  return std::ranges::all_of(members_, [&](const Member& member) { return fit(*member.recording, recording); });
}

bool CommitGroup::fit(const Recording& one, const Recording& other) {
  return one.kernel.static_hash != other.kernel.static_hash ||
         (one.instance.dynamic_hash != other.instance.dynamic_hash && one.kernel == other.kernel);
}

Status CommitGroup::add(Publication& publication, const Recording& recording) {
  Member member{static_cast<DatabasePublication*>(&publication), &recording};
  MNEME_TRY(check_images(recording));
  MNEME_TRY(member.publication->writer().end_packs());
  // Until it is a member, which memory that runs out may keep it from, too.
  const bool lost_before = shared_->lost_some.exchange(true);
  member.publication->writer().add_pages_to(shared_->packs);
  MNEME_TRY(write_states(member));
  if (unfinished_ == Unfinished::noted) note(member);
  members_.push_back(std::move(member));
  shared_->lost_some = lost_before;
  return {};
}

// What cannot be noted is lost when the process is killed, and stored otherwise.
void CommitGroup::note(Member& member) {
  const Recording& recording = *member.recording;
  UnlistedLaunch launch{{recording.kernel, {}, {}, {}}, recording.instance};
  for (PageWriter::Unnamed& pack : member.publication->writer().unnamed())
    launch.packs.push_back({std::move(pack.temporary), pack.name});
  for (size_t i = 0; i < launch.states.size(); ++i) launch.states[i] = member.states[i].temporary_path().filename().string();
  Status noted;
  if (!unlisted_) {
    auto created = UnlistedFile::create(database_);
    noted = created.status();
    if (created.ok()) unlisted_ = std::move(*created);
  }
  if (noted.ok()) noted = unlisted_->add(std::move(launch), recording);
  if (!noted.ok()) log::debug("a launch is lost if the process is killed before it is listed: {}", noted.message());
}

Status CommitGroup::write_states(Member& member) {
  const InstanceRecord& instance = member.recording->instance;
  MNEME_ASSIGN(const ByteVector prologue, encode(Moment::prologue, instance, member.recording->prologue));
  MNEME_ASSIGN(const ByteVector epilogue, encode(Moment::epilogue, instance, member.recording->epilogue));
  MNEME_TRY(check_limit(member, Bytes(prologue.size() + epilogue.size())));
  for (const auto& [moment, bytes] : {std::pair(Moment::prologue, &prologue), std::pair(Moment::epilogue, &epilogue)}) {
    const Path path = database_.path_of(state_file_name(moment, instance.static_hash, instance.dynamic_hash));
    const auto before = database_.files.size(path);
    member.publication->add_written(bytes->size() - (before.ok() ? std::min<uint64_t>(before->count, bytes->size()) : 0));
    MNEME_ASSIGN(PendingFile pending, PendingFile::write(database_.files, path, *bytes));
    member.states.push_back(std::move(pending));
  }
  return {};
}

Result<ByteVector> CommitGroup::encode(Moment moment, const InstanceRecord& instance, const MemoryState& memory) const {
  std::set<Digest> packs;
  std::vector<Digest> others;
  Digest last;
  const auto find = [&](const Digest& page) -> const Digest* {
    for (const Shared* shared : {shared_.get(), before_.get()}) {
      if (!shared) continue;
      if (const auto found = shared->packs.find(page); found != shared->packs.end()) return &found->second;
    }
    return nullptr;
  };
  for (const Region& region : memory.regions)
    for (const Digest& page : region.pages) {
      const Digest* found = find(page);
      if (!found)
        others.push_back(page);
      else if (*found != last)
        packs.insert(last = *found);
    }
  MNEME_ASSIGN(const std::set<Digest> stored, database_.store.packs_of(others));
  packs.insert(stored.begin(), stored.end());
  return encode_state({moment, instance.static_hash, instance.dynamic_hash, memory, {packs.begin(), packs.end()}});
}

Status CommitGroup::check_limit(const Member& member, Bytes states) const {
  DatabasePublication& publication = *member.publication;
  if (publication.limit() == PublicationOptions().limit) return {};
  MNEME_ASSIGN(const Bytes listing, GroupListing(database_).growth(*member.recording));
  const Bytes needed = publication.writer().finished_size() + states + listing;
  if (needed <= publication.limit()) return {};
  publication.set_over_limit();
  return error(Code::exhausted, "the instance would add {} to the database, of which {} are allowed", needed,
               publication.limit());
}

// Memory that runs out on the way leaves it as if some were lost.
std::vector<Status> CommitGroup::finish() {
  bool lost = shared_->lost_some.exchange(true);
  lost_before_ = lost || (before_ && before_->lost_some);
  sync_data();
  name_data();
  list();
  std::vector<Status> statuses;
  for (Member& member : members_) {
    lost = lost || !member.status.ok();
    statuses.push_back(std::move(member.status));
  }
  members_.clear();
  unlisted_.reset();
  shared_->lost_some = lost;
  return statuses;
}

void CommitGroup::fail_all(const Status& status) {
  for (Member& member : members_) member.note(status);
}

// Packs and states, under their temporary names.
void CommitGroup::sync_data() {
  std::vector<UnsyncedFile*> files;
  std::vector<Member*> owners;
  for (Member& member : members_) {
    const auto add = [&](UnsyncedFile* file) { files.push_back(file), owners.push_back(&member); };
    for (const PageWriter::Unnamed& pack : member.publication->writer().unnamed()) add(pack.file);
    for (PendingFile& state : member.states) add(&state.file());
  }
  const std::vector<Status> statuses = database_.files.sync_all(files);
  for (size_t i = 0; i < files.size(); ++i) owners[i]->note(statuses[i]);
}

void CommitGroup::name_data() {
  bool some = false;
  for (Member& member : members_) {
    if (!member.status.ok() || member.publication->writer().unnamed().empty()) continue;
    member.note(member.publication->writer().name_packs());
    some = true;
  }
  if (some)
    if (Status synced = database_.files.sync_directory(database_.store.directory()); !synced.ok()) return fail_all(synced);
  for (Member& member : members_)
    if (member.status.ok()) member.publication->writer().join_store();
  drop_those_without_pages();
  some = false;
  for (Member& member : members_) {
    for (PendingFile& state : member.states)
      if (member.status.ok()) some = true, member.note(state.take_place());
    member.states.clear();
  }
  if (some)
    if (Status synced = database_.files.sync_directory(database_.directory); !synced.ok()) fail_all(synced);
}

// An instance may count on pages of one before it, which has failed meanwhile.
void CommitGroup::drop_those_without_pages() {
  if (!lost_before_ && !(before_ && before_->lost_some) &&
      std::ranges::all_of(members_, [](const Member& member) { return member.status.ok(); }))
    return;
  for (Member& member : members_)
    for (const MemoryState* state : {&member.recording->prologue, &member.recording->epilogue})
      if (member.status.ok()) member.note(database_.store.packs_of(digests_in(*state)).status());
}

void CommitGroup::list() {
  GroupListing listing(database_);
  std::vector<Member*> listed;
  for (Member& member : members_) {
    if (!member.status.ok()) continue;
    listing.add(*member.recording);
    listed.push_back(&member);
  }
  if (listed.empty()) return;
  if (unlisted_)
    for (auto& [name, bytes] : unlisted_->take_images()) listing.take_image(name, std::move(bytes));
  const std::vector<GroupListing::Outcome> outcomes = listing.write();
  for (size_t i = 0; i < listed.size(); ++i) {
    listed[i]->note(outcomes[i].status);
    listed[i]->publication->add_written(outcomes[i].written);
  }
}

}  // namespace mneme
