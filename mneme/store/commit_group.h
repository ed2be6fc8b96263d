// CommitGroup: publications that are committed together, so that the disk is waited for once and not once for each.
//
//   auto group = database.begin_group();
//   group->add(*publication, recording);   // for each, in the order in which they were begun; does not wait for the disk
//   std::vector<Status> committed = group->finish();
//
// add() writes what the instance needs under temporary names, and how it is to be listed (unlisted.h). finish() has the disk take
// all of that, several files at once, gives the files their names, and lists the instances when these names are on the disk, too.
// So what is listed is whole, whenever the process is killed or the machine loses its power. Of a process that is killed, what
// was added is listed by who opens the database next; when the power goes, the whole group may be lost. What fails for one
// instance or kernel fails for it alone, and for instances that count on its pages. Publication::commit() is a group of one.
//
// The database, and what was added, must outlive the group. To be used by one thread at a time. One may be finished while another
// thread adds to the next (Database::begin_group()).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/store/database.h"

namespace mneme {

class DatabasePublication;
class PendingFile;
class UnlistedFile;

class CommitGroup {
 public:
  // Whether add() also notes what makes its instance to be listed when the process is killed before finish().
  enum class Unfinished { lost, noted };
  CommitGroup(Database::Impl& database, Unfinished unfinished, const CommitGroup* before = nullptr);
  ~CommitGroup();
  CommitGroup(const CommitGroup&) = delete;
  CommitGroup& operator=(const CommitGroup&) = delete;

  // Whether the recording may be added: the group does not have its instance, nor the same kernel with other code.
  bool fits(const Recording& recording) const;
  // Whether both may be in one group.
  static bool fit(const Recording& one, const Recording& other);
  // Fails as Publication::commit() does. What could not be added is not in the group.
  Status add(Publication& publication, const Recording& recording);
  // What commit() would give, for each instance in the order in which they were added. The group is empty then.
  std::vector<Status> finish();

 private:
  struct Member;
  // Known to the next group, too, which another thread may use.
  struct Shared {
    std::unordered_map<Digest, Digest> packs{};  // of pages in packs of the group, which have no names yet; grows before finish()
    std::atomic<bool> lost_some = false;         // whether some of these pages are of a publication that failed
  };

  // The packs that hold these pages, with those of the group and of the one before it; some may be there twice.
  Result<std::vector<Digest>> packs_of(std::span<const Digest> pages) const;
  Result<std::array<ByteVector, 2>> encode(const Recording& recording) const;  // the prologue and the epilogue
  Status write_states(Member& member);
  void note(Member& member);
  Status check_limit(const Member& member, Bytes states) const;
  void sync_data();
  void name_data();
  void drop_those_without_pages();
  void fail_all(const Status& status);
  void list();

  Database::Impl& database_;
  std::vector<Member> members_;
  const Unfinished unfinished_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  const std::shared_ptr<Shared> before_;    // of the group before; null: there is none
  bool lost_before_ = false;                // as finish() began: here, or in the group before
  std::unique_ptr<UnlistedFile> unlisted_;  // null until something is added, and where there is no such file
};

}  // namespace mneme
