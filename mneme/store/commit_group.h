// CommitGroup: publications that are committed together, so that the disk is waited for once and not once for each.
//
//   auto group = database.begin_group();
//   group->add(*publication, recording);   // for each, in the order in which they were begun; does not wait for the disk
//   std::vector<Status> committed = group->finish();
//
// add() writes what the instance needs under temporary names. finish() has the disk take all of that, several files at once,
// gives the files their names, and lists the instances when these names are on the disk, too. So what is listed is whole,
// whenever the process is killed or the machine loses its power; a process that is killed loses the whole group at most. What
// fails for one instance or kernel fails for it alone, and for instances that count on its pages. Publication::commit() is a
// group of one.
//
// The database, and what was added, must outlive the group. To be used by one thread at a time.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/store/database.h"

namespace mneme {

class DatabasePublication;
class PendingFile;

class CommitGroup {
 public:
  explicit CommitGroup(Database::Impl& database);
  ~CommitGroup();
  CommitGroup(const CommitGroup&) = delete;
  CommitGroup& operator=(const CommitGroup&) = delete;

  // Whether the recording may be added: the group does not have its instance, nor the same kernel with other code.
  bool fits(const Recording& recording) const;
  // Fails as Publication::commit() does. What could not be added is not in the group.
  Status add(Publication& publication, const Recording& recording);
  // What commit() would give, for each instance in the order in which they were added. The group is empty then.
  std::vector<Status> finish();

 private:
  struct Member;

  Result<ByteVector> encode(Moment moment, const InstanceRecord& instance, const MemoryState& memory) const;
  Status write_states(Member& member);
  Status check_limit(const Member& member, Bytes states) const;
  void sync_data();
  void name_data();
  void name_states(Member& member);
  void drop_those_without_pages();
  void fail_all(const Status& status);
  void list();

  Database::Impl& database_;
  std::vector<Member> members_;
  std::unordered_map<Digest, Digest> packs_;  // of pages in packs of the group, which have no names yet
  bool lost_some_ = false;                    // whether some of these pages are of a publication that could not be added
};

}  // namespace mneme
