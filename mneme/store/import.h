// DatabaseImport: takes recordings into a database, and publishes each instance whole, one after another. What was imported
// before a failure stays, and is not imported again.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "mneme/store/database.h"

namespace mneme {

// What became of an instance.
struct ImportedInstance {
  enum class Outcome {
    imported,
    there_already,
    refused,  // the database has another of the same hashes
  };
  Outcome outcome = Outcome::imported;
  std::string kernel;  // its demangled name
  Digest static_hash;
  Digest dynamic_hash;
  std::string difference;  // of one that is refused: in what the two differ
};

// The failure that an instance which is refused is.
Status refusal(const ImportedInstance& instance, const Path& database);

// In what two recordings of one launch differ that a replay can tell: "" for nothing. Where and when they were recorded is not
// part of that, nor how long the launch took.
std::string difference_between(const RecordedInstance& a, const RecordedInstance& b);

// For one thread. The database must outlive it, and have been opened by Database::create().
class DatabaseImport final : public RecordingSink {
 public:
  using Tell = std::function<void(const ImportedInstance&)>;
  // `tell` is called with each instance, as soon as it is known what becomes of it.
  DatabaseImport(Database& into, Tell tell) : into_(into), tell_(std::move(tell)) {}

  Status begin_kernel(SentKernel kernel) override;
  Result<bool> wants(const RecordedInstance& recorded) override;
  Status put_page(const StoredPage& page) override;
  Status put_instance(const RecordedInstance& recorded) override;

 private:
  Status begin_publication();
  Status end_batch();

  Database& into_;
  const Tell tell_;
  Recording kernel_;  // with nothing of an instance
  // Pages that come stay with it until the next instance that is published.
  std::unique_ptr<Publication> publication_;
  std::deque<Digest> digests_;  // where the publication writes those of its pages
  std::vector<StoredPage> batch_;
  uint64_t batch_bytes_ = 0;
};

}  // namespace mneme
