// Publication: one instance on its way into the database.
//
//   auto publication = database.begin_publication();
//   publication->put(batch);          // memory before the launch, in any number of batches
//   …                                 // the launch; writer threads digest and compress meanwhile
//   publication->put(batch);          // memory after it
//   publication->wait();              // now every digest is filled in
//   publication->commit(recording);   // pages, states, IR, then the kernel's JSON; each whole or not at all
//
// Destroying it without commit leaves nothing behind. Used by one thread.
#pragma once

#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

struct PublicationOptions {
  // Writer threads: 0 is one for each two processors, from 1 to 8.
  unsigned threads = 0;
  // put() waits while more than this is on its way to the writer threads.
  Bytes queue = 256_MiB;
  // The most that the publication, with all its files, may add to the database; beyond, put, wait and commit say exhausted,
  // over_limit() is true, and nothing is published.
  Bytes limit{~uint64_t{0}};
};

// Page contents, one after another in `bytes`, each with the place where its digest is wanted.
struct PageBatch {
  struct Page {
    uint64_t size;   // in bytes; of the next ones in `bytes`
    Digest* digest;  // must stay valid until wait() or destruction
  };
  std::unique_ptr<std::byte[]> bytes;
  std::vector<Page> pages;
};

struct Recording {
  KernelRecord kernel;
  ByteVector ir;  // bitcode, one or several modules
  InstanceRecord instance;
  MemoryState prologue;
  MemoryState epilogue;
};

class Publication {
 public:
  virtual ~Publication() = default;

  // Fails with what the writer threads met, once they have.
  virtual Status put(PageBatch batch) = 0;
  // Until every digest is filled in.
  virtual Status wait() = 0;
  // An instance that is there already (another process published it) stays; nothing is added then.
  virtual Status commit(const Recording& recording) = 0;

  // What the database has grown by so far, and whether the limit is what put, wait or commit failed with.
  virtual Bytes written() const = 0;
  virtual bool over_limit() const = 0;
};

}  // namespace mneme
