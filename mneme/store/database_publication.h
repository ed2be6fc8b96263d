// What a CommitGroup sees of a publication. Not for other rooms.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "mneme/base/pending_file.h"
#include "mneme/store/database_impl.h"
#include "mneme/store/page_writer.h"

namespace mneme {

class DatabasePublication final : public Publication {
 public:
  DatabasePublication(Database::Impl& database, const PublicationOptions& options, std::unique_ptr<FileLock> use)
      : database_(database),
        use_(std::move(use)),
        limit_(options.limit),
        ready_files_(database.ready_files()),
        writer_(database.store, database.files, options, ready_files_) {}

  Status put(PageBatch batch) override { return writer_.put(std::move(batch)); }
  Status wait() override { return writer_.wait(); }
  Status settle() override { return writer_.settle(); }
  bool is_settled() const override { return writer_.is_settled(); }
  Status check(const Recording& recording) override;
  Status prepare(const Recording& recording) override;
  Status commit(const Recording& recording) override;
  Status keep_pages() override { return writer_.finish(); }
  Bytes new_content() const override { return writer_.new_content(); }
  Bytes written() const override { return writer_.written() + Bytes(written_); }
  bool over_limit() const override { return over_limit_ || writer_.over_limit(); }

  PageWriter& writer() { return writer_; }
  // What prepare() has made: the files of the prologue and of the epilogue, which are empty, and what a file of unlisted launches
  // has of the launch.
  std::vector<PendingFile> take_states() { return std::exchange(states_, {}); }
  const ByteVector& records() const { return records_; }
  Bytes limit() const { return limit_; }
  void set_over_limit() { over_limit_ = true; }
  void add_written(uint64_t bytes) { written_ += bytes; }

 private:
  Database::Impl& database_;
  const std::unique_ptr<FileLock> use_;  // what it has found in the database stays there
  const Bytes limit_;
  const std::shared_ptr<ReadyFiles> ready_files_;
  PageWriter writer_;
  bool over_limit_ = false;
  uint64_t written_ = 0;
  std::string records_of_kernel_;  // empty until check()
  std::vector<PendingFile> states_;
  ByteVector records_;
};

}  // namespace mneme
