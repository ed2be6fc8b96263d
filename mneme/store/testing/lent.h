// For tests: an instance whose pages are lent to threads that publications share, as a recorder's are.
#pragma once

#include <memory>

#include "mneme/store/testing/store_testing.h"
#include "mneme/store/writer_threads.h"

namespace mneme {

inline PageBatch lent(PageBatch batch) {
  batch.lent = true;
  return batch;
}

// Up to its commit.
struct Lent {
  Lent(Database& database, const std::shared_ptr<WriterThreads>& writers, const SampleMemory& memory) : Lent(database, writers) {
    if (status.ok()) put(memory);
  }
  // Only begun.
  Lent(Database& database, const std::shared_ptr<WriterThreads>& writers) {
    PublicationOptions options;
    options.writers = writers;
    auto begun = database.begin_publication(options);
    status = begun.status();
    if (!begun.ok()) return;
    publication = std::move(*begun);
  }
  void put(const SampleMemory& memory) {
    before = after = sample_region(memory);
    status = publication->put(lent(batch_of(memory.before, before)));
    if (status.ok()) status = publication->put(lent(batch_of(memory.after, after)));
    if (status.ok()) status = publication->wait();
  }
  // What is committed. It stays where it is until the next call.
  const Recording& as(const KernelRecord& kernel) {
    recording = {kernel, noise(500, 7), sample_instance(kernel), {{before}}, {{after}}, {}};
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue, kernel.level);
    instance = recording.instance.dynamic_hash;
    return recording;
  }
  Status commit(const KernelRecord& kernel) {
    MNEME_TRY(status);
    return publication->commit(as(kernel));
  }
  Region before, after;
  std::unique_ptr<Publication> publication;
  Status status;
  Recording recording;
  Digest instance;
};

}  // namespace mneme
