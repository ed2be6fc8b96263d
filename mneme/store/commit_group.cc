#include "mneme/store/commit_group.h"

#include <algorithm>
#include <span>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/base/pending_file.h"
#include "mneme/store/database_publication.h"
#include "mneme/store/group_listing.h"
#include "mneme/store/unlisted.h"

namespace mneme {
namespace {

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
  std::array<uint64_t, 2> state_sizes{};
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
  MNEME_TRY(member.publication->check(recording));
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
  if (noted.ok()) noted = unlisted_->add(std::move(launch), member.publication->records(), recording);
  if (!noted.ok()) log::debug("a launch is lost if the process is killed before it is listed: {}", noted.message());
}

Status CommitGroup::write_states(Member& member) {
  MNEME_ASSIGN(const auto states, encode(*member.recording));
  MNEME_TRY(check_limit(member, Bytes(states[0].size() + states[1].size())));
  MNEME_TRY(member.publication->prepare(*member.recording));
  member.states = member.publication->take_states();
  for (size_t state = 0; state < states.size(); ++state) {
    member.state_sizes[state] = states[state].size();
    MNEME_TRY(member.states[state].append(states[state]));
  }
  return {};
}

// Most pages are not new. One that is damaged where it was is named where the group has it.
Result<std::vector<Digest>> CommitGroup::packs_of(std::span<const Digest> pages) const {
  PageStore::Packs packs = database_.store.find_packs(pages);
  std::vector<Digest> nowhere;
  for (const Digest& page : packs.others) {
    const auto is_in = [&](const std::shared_ptr<Shared>& shared) {
      if (!shared) return false;
      const auto found = shared->packs.find(page);
      if (found == shared->packs.end()) return false;
      packs.names.push_back(found->second);
      return true;
    };
    if (!is_in(shared_) && !is_in(before_)) nowhere.push_back(page);
  }
  MNEME_ASSIGN(const std::vector<Digest> left, database_.store.packs_of(nowhere));
  packs.names.insert(packs.names.end(), left.begin(), left.end());
  return std::move(packs.names);
}

// The states of one launch have most of their pages in common, for which is looked once.
Result<std::array<ByteVector, 2>> CommitGroup::encode(const Recording& recording) const {
  const std::array<const MemoryState*, 2> states{&recording.prologue, &recording.epilogue};
  std::vector<Digest> common;
  std::array<std::vector<Digest>, 2> own;
  const size_t in_both = std::min(states[0]->regions.size(), states[1]->regions.size());
  for (size_t i = 0; i < in_both; ++i) {
    const std::vector<Digest>&one = states[0]->regions[i].pages, &other = states[1]->regions[i].pages;
    for (size_t page = 0; page < std::max(one.size(), other.size()); ++page) {
      if (page < std::min(one.size(), other.size()) && one[page] == other[page]) {
        common.push_back(one[page]);
        continue;
      }
      if (page < one.size()) own[0].push_back(one[page]);
      if (page < other.size()) own[1].push_back(other[page]);
    }
  }
  MNEME_ASSIGN(const std::vector<Digest> packs_of_common, packs_of(common));
  std::array<ByteVector, 2> encoded;
  for (size_t state = 0; state < 2; ++state) {
    for (const Region& region : std::span(states[state]->regions).subspan(in_both))
      own[state].insert(own[state].end(), region.pages.begin(), region.pages.end());
    MNEME_ASSIGN(std::vector<Digest> packs, packs_of(own[state]));
    packs.insert(packs.end(), packs_of_common.begin(), packs_of_common.end());
    std::ranges::sort(packs);
    const auto more = std::ranges::unique(packs);
    packs.erase(more.begin(), more.end());
    encoded[state] = encode_state({state == 0 ? Moment::prologue : Moment::epilogue, recording.instance.static_hash,
                                   recording.instance.dynamic_hash, *states[state], std::move(packs)});
  }
  return encoded;
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
    for (size_t i = 0; i < member.states.size() && member.status.ok(); ++i) {
      const auto replaced = database_.files.size(member.states[i].path());
      const uint64_t size = member.state_sizes[i];
      member.publication->add_written(size - (replaced.ok() ? std::min<uint64_t>(replaced->count, size) : 0));
      member.note(member.states[i].take_place());
      some = true;
    }
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
