// Listing what a process has left complete and not listed.
#include <algorithm>
#include <map>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/store/group_listing.h"
#include "mneme/store/image_file.h"
#include "mneme/store/unlisted.h"

namespace mneme {
namespace {

constexpr LockPatience kNow{.limit = {}};

// What is no reason to try again: the launch cannot be listed by anybody.
bool is_lost(const Status& status) { return status.code() == Code::corrupt || status.code() == Code::not_found; }

// Of all files at once: launches count on pages of those before them.
class Recovery {
 public:
  explicit Recovery(Database::Impl& database) : database_(database) {}

  void add(std::vector<UnlistedLaunch> launches) { std::ranges::move(launches, std::back_inserter(launches_)); }

  // Whether pages, states or code of some were not found.
  bool has_lost() const { return !lost_.empty(); }

  // Lists those that can be listed. A failure: the others are to be tried again, for the first reason that there was.
  Status run() {
    for (UnlistedLaunch& launch : launches_) {
      remember_code(launch);
      for (const UnlistedLaunch::Pack& pack : launch.packs) take(name(pack), launch);
    }
    MNEME_TRY(database_.files.sync_directory(database_.store.directory()));
    database_.store.refresh();
    for (const UnlistedLaunch& launch : launches_)
      if (is_taken(launch)) take(name_states(launch), launch);
    MNEME_TRY(database_.files.sync_directory(database_.directory));
    MNEME_TRY(list());
    return left_for_later_;
  }

 private:
  void take(const Status& status, const UnlistedLaunch& launch) {
    if (status.ok()) return;
    log::debug("a launch that a killed recording has left is not listed: {}", status.message());
    if (is_lost(status))
      lost_.insert(&launch);
    else if (later_.insert(&launch); left_for_later_.ok())
      left_for_later_ = status;
  }
  bool is_taken(const UnlistedLaunch& launch) const { return !lost_.contains(&launch) && !later_.contains(&launch); }

  // Later launches of the file count on it.
  void remember_code(UnlistedLaunch& launch) {
    const KernelRecord& kernel = launch.kernel.kernel;
    if (launch.ir) ir_.try_emplace(kernel.static_hash, std::move(*launch.ir));
    for (auto& [place, image] : launch.images) images_.try_emplace(image_file_name(kernel.images[place]), std::move(image));
  }

  Status sync(const Path& path) {
    MNEME_ASSIGN(const auto file, database_.files.open_to_change(path));
    return file->sync();
  }

  // Only a pack that is what its name says.
  Status name(const UnlistedLaunch::Pack& pack) {
    const Path from = database_.store.directory() / pack.temporary;
    const Path to = database_.store.directory() / pack_file_name(pack.name);
    if (!database_.files.exists(from) && database_.files.exists(to)) return {};
    MNEME_ASSIGN(const auto file, database_.files.open(from));
    MNEME_ASSIGN(const std::vector<PackedPage> pages, read_pack(*file, from.string()));
    Digest name;
    (void)pack_tail(pages, name);
    if (name != pack.name) return error(Code::corrupt, "{}: it is another pack", from.string());
    MNEME_TRY(sync(from));
    return database_.files.rename(from, to);
  }

  // Nothing takes the place of a state that is listed.
  Status name_states(const UnlistedLaunch& launch) {
    const InstanceRecord& instance = launch.instance;
    const auto found = database_.find_instance(instance.static_hash, instance.dynamic_hash);
    if (found.ok() && found->has_value()) return error(Code::not_found, "it is listed already");
    if (!found.ok() && !is_lost(found.status())) return found.status();
    for (const Moment moment : {Moment::prologue, Moment::epilogue}) {
      const Path from = database_.path_of(launch.states[moment == Moment::prologue ? 0 : 1]);
      const Path to = database_.path_of(state_file_name(moment, instance.static_hash, instance.dynamic_hash));
      if (database_.files.exists(from) || !database_.files.exists(to)) {
        MNEME_TRY(check_state(from, moment, instance));
        MNEME_TRY(sync(from));
        MNEME_TRY(database_.files.rename(from, to));
      } else {
        MNEME_TRY(check_state(to, moment, instance));
      }
    }
    return {};
  }

  // All pages that it names are read.
  Status check_state(const Path& path, Moment moment, const InstanceRecord& instance) {
    MNEME_ASSIGN(const ByteVector bytes, database_.files.read(path));
    MNEME_ASSIGN(StateDocument document, decode_state(bytes, path.string()));
    if (document.moment != moment || document.static_hash != instance.static_hash ||
        document.dynamic_hash != instance.dynamic_hash)
      return error(Code::corrupt, "{}: it is another state", path.string());
    for (const PageOfState& page : pages_of({instance, std::move(document.state), {}}))
      if (Status whole = database_.store.check_whole(page.digest, page.size); !whole.ok())
        return whole.with_context(path.string());
    return {};
  }

  // Lost: its code is nowhere.
  Result<Recording> recording_of(UnlistedLaunch& launch) {
    Recording recording{std::move(launch.kernel.kernel), {}, std::move(launch.instance), {}, {}, {}};
    const KernelRecord& kernel = recording.kernel;
    const auto ir = ir_.find(kernel.static_hash);
    if (ir != ir_.end()) recording.ir = ir->second;
    for (const CodeImageRecord& record : kernel.images) {
      const auto image = images_.find(image_file_name(record));
      MNEME_ASSIGN(ByteVector bytes,
                   image != images_.end() ? decode_image(record, image->second, image->first) : database_.load_image(record));
      if (Bytes(bytes.size()) != record.size || digest_of(bytes) != record.digest)
        return error(Code::corrupt, "{}: it is another image", image_file_name(record));
      recording.images.push_back(std::move(bytes));
    }
    if (kernel.level != CodeLevel::ir || ir != ir_.end()) return recording;
    MNEME_ASSIGN(const KernelDocument head, database_.load_head(kernel.static_hash));
    MNEME_ASSIGN(recording.ir, database_.files.read(database_.path_of(ir_file_name(kernel.static_hash))));
    if (digest_of(recording.ir) != head.ir_digest)
      return error(Code::corrupt, "{} is damaged", database_.path_of(ir_file_name(kernel.static_hash)).string());
    return recording;
  }

  Status list() {
    std::vector<Recording> recordings;
    for (UnlistedLaunch& launch : launches_) {
      if (!is_taken(launch)) continue;
      Result<Recording> recording = recording_of(launch);
      take(recording.status(), launch);
      if (recording.ok()) recordings.push_back(std::move(*recording));
    }
    if (recordings.empty()) return {};
    GroupListing listing(database_);
    for (const Recording& recording : recordings) listing.add(recording);
    Status first;
    size_t listed = 0;
    for (const GroupListing::Outcome& outcome : listing.write()) {
      listed += outcome.status.ok();
      if (first.ok() && !outcome.status.ok() && !is_lost(outcome.status)) first = outcome.status;
    }
    if (listed != 0)
      log::debug("{}: {} launches that a killed recording has left are listed", database_.directory.string(), listed);
    return first;
  }

  Database::Impl& database_;
  std::vector<UnlistedLaunch> launches_;
  std::set<const UnlistedLaunch*> lost_, later_;
  Status left_for_later_;
  std::map<Digest, ByteVector> ir_;           // by kernel
  std::map<std::string, ByteVector> images_;  // their files, by the names of these
};

}  // namespace

bool recover_unlisted(Database::Impl& database, const std::vector<std::string>& names_in_folder, UseLock use) {
  struct Left {
    Path path;
    std::unique_ptr<FileLock> lock;
    Unlisted unlisted{};
  };
  std::vector<Left> all;
  bool others = false;
  for (const std::string& name : names_in_folder) {
    if (!is_temporary_of(name, kUnlistedName)) continue;
    const Path path = database.path_of(name);
    auto lock = database.files.lock(path, kNow);
    // Somebody is alive, or may be, where the file system has no locks.
    if (lock.ok())
      all.push_back({path, std::move(*lock)});
    else
      others = true;
  }
  if (all.empty()) return !others;
  // So that nobody removes meanwhile what is named here.
  std::unique_ptr<FileLock> taken;
  Status status;
  if (use == UseLock::take) {
    auto lock = database.files.lock(database.use_path(), kNow, LockKind::shared);
    status = lock.status();
    if (lock.ok()) taken = std::move(*lock);
  }
  for (Left& left : all) {
    if (!status.ok()) break;
    const auto bytes = database.files.read(left.path);
    auto unlisted = bytes.ok() ? decode_unlisted(*bytes, left.path.string()) : Result<Unlisted>(bytes.status());
    if (unlisted.ok())
      left.unlisted = std::move(*unlisted);
    else if (!is_lost(unlisted.status()))
      status = unlisted.status();
  }
  std::ranges::sort(all, {}, [](const Left& left) { return left.unlisted.begun; });
  Recovery recovery(database);
  for (Left& left : all) recovery.add(std::move(left.unlisted.launches));
  if (status.ok()) status = recovery.run();
  // What another process is listing now may hold the pages of what seems to have lost them.
  if (status.ok() && others && recovery.has_lost()) return false;
  for (const Left& left : all) {
    if (!status.ok()) break;
    status = database.files.remove(left.path);
    if (status.code() == Code::not_found) status = {};  // another process has listed them meanwhile
  }
  if (status.ok()) return !others;
  log::warning("{} has launches that a killed recording has left complete, and they cannot be listed: {}",
               database.directory.string(), status.message());
  return false;
}

}  // namespace mneme
