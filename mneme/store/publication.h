// Publication: writes one instance into the database.
//
//   auto publication = database.begin_publication();
//   publication->put(batch);          // memory before the launch, in any number of batches
//   …                                 // the launch; writer threads digest and compress meanwhile
//   publication->put(batch);          // memory after it
//   publication->wait();              // now every digest is filled in
//   publication->commit(recording);   // pages, states, code, list, the kernel's JSON; each file whole or not at all
//
// A publication that is destroyed without commit() leaves nothing behind. To be used by one thread at a time, which
// may be another one than before: the one that put the pages need not wait for their digests, nor for the files. Several are
// committed together by a CommitGroup.
#pragma once

#include <memory>
#include <vector>

#include "mneme/base/shared_bytes.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

class WriterThreads;

struct PublicationOptions {
  // How many writer threads to use. 0 means one for every two processors, at least 1 and at most 8.
  unsigned threads = 0;
  // put() waits while more bytes than this wait for the writer threads.
  Bytes queue = 256_MiB;
  // Threads, and memory for lent pages, that several publications use; see writer_threads.h. Null: it has threads of its own.
  std::shared_ptr<WriterThreads> writers = nullptr;
  // The most that the publication, with all its files, may add to the database. Beyond it put(), wait() and commit() fail with
  // exhausted, over_limit() is true, and nothing is published.
  Bytes limit{~uint64_t{0}};
};

// Page contents, one after another in `bytes`, each with the place where its digest is wanted.
struct PageBatch {
  struct Page {
    uint64_t size;   // how many of the next bytes in `bytes` are this page's
    Digest* digest;  // where its digest is written; must stay valid until wait() returns or the publication is destroyed
  };
  std::shared_ptr<std::byte[]> bytes;
  std::vector<Page> pages;
  // The bytes are wanted back soon. What is to be stored of them is copied, where the threads have memory for that, and they are
  // let go of before wait() returns. put() does not wait.
  bool lent = false;
};

struct Recording {
  KernelRecord kernel;
  SharedBytes ir;  // bitcode, one or several modules; empty unless the kernel's level is ir
  InstanceRecord instance;
  MemoryState prologue;
  MemoryState epilogue;
  std::vector<SharedBytes> images;  // the bytes of kernel.images, in the same order
};

class Publication {
 public:
  virtual ~Publication() = default;

  // Gives pages to the writer threads. (Those of a batch that is not lent are stored, too, before wait() returns.) Once a writer
  // thread has failed, this and every later call fails with its status.
  virtual Status put(PageBatch batch) = 0;
  // Waits until every digest is filled in.
  virtual Status wait() = 0;
  // Waits until every page is stored, so that commit() does not.
  virtual Status settle() = 0;
  // Whether the threads are done with all pages, so that neither wait() nor commit() waits for them.
  virtual bool is_settled() const = 0;
  // Looks at the recording's kernel and images, which are to be committed as they are now; commit() then does not.
  // invalid_argument: as commit().
  virtual Status check(const Recording& recording) = 0;
  // Does what commit() of the same recording, or its group, then need not do, while pages are being stored. To be called after
  // wait(), and with the recording as it will be committed. Fails as commit() does, which may be called all the same.
  virtual Status prepare(const Recording& recording) = 0;
  // Publishes the instance. One that exists already, because another process has published it, is not listed again; only its
  // annotations are replaced where they differ. unavailable: a page is not stored, since the publication that was to store it has
  // failed, or nobody has put it. invalid_argument: `images` does not have one element for each of the kernel's
  // images, or one has other bytes than its record says.
  virtual Status commit(const Recording& recording) = 0;
  // In place of commit(), or after it has failed: stores the pages for the publications that come after this one, and nothing
  // else.
  virtual Status keep_pages() = 0;

  // How many bytes of pages, before they were compressed, commit() or keep_pages() has brought that the database did not have; 0
  // until then. A content that two publications have written at the same time counts for the one that is committed first.
  virtual Bytes new_content() const = 0;
  // How many bytes the database has grown by so far, and whether the limit is why put(), wait() or commit() failed.
  virtual Bytes written() const = 0;
  virtual bool over_limit() const = 0;
};

}  // namespace mneme
