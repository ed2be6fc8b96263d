// WriterThreads: the threads of publications, and the memory in which pages wait to be compressed and written.
//
// Work is of two kinds. What a program waits for (digests) is done before what it does not (storing). Publications that share
// these threads share the pages that they have yet to write, too: each content is written by one of them that was begun before
// those that count on it. They must be committed in the order in which they were begun. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/types.h"

namespace mneme {

class WriterThreads {
 public:
  // Pages wait in memory of this size.
  static constexpr Bytes kBlock = 2_MiB;

  // 0 threads means one for every two processors, at least 1 and at most 8. `memory` is the most that pages wait in.
  explicit WriterThreads(unsigned threads = 0, Bytes memory = {});
  ~WriterThreads();
  WriterThreads(const WriterThreads&) = delete;
  WriterThreads& operator=(const WriterThreads&) = delete;

  enum class Order { first, later };
  // The threads start when work is added while other work waits: one piece is not worth them. While the system starts none, the
  // caller does it all. They end when they are idle (idle_threads.h).
  void add(Order order, const void* owner, std::function<void()> work);
  // Does one piece of work, if any waits; with Order::first none that is for later.
  bool help(Order upto);
  // Whether less work waits than there are threads for it.
  bool is_short_of_work();
  // Takes the work of an owner that nobody has begun out of the queues.
  std::vector<std::function<void()>> take_all(const void* owner);
  // Starts the threads, if they do not run. False: the system starts none.
  bool start();
  // While one lives the program does nothing but wait for this work: as many threads do it as there are processors, 16 at most.
  class Hurry {
   public:
    explicit Hurry(WriterThreads& threads);
    ~Hurry();
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    WriterThreads& threads_;
  };

  // Memory of kBlock. Null: all of it is in use, or the system has none.
  using Block = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;
  Block take_block();
  // Copies these into such memory, one behind another, and gives where the first of them is now; they stay there until nobody has
  // what is given. What comes after them shares the memory, which the system clears when it is first touched. Null: all of it is
  // in use, or these are more than kBlock.
  std::shared_ptr<std::byte> keep(std::span<const ByteSpan> contents);

  // In how much memory, in bytes, compressed pages of one publication wait to be written: an eighth of that in which pages wait,
  // 2 MiB at least and 32 MiB at most.
  uint64_t most_brought() const { return most_brought_; }
  // Takes one of the files that publications may have open beside the one that each has. False: none is left of the 64, or of the
  // sixteenth of what the process may have open where that is less.
  bool take_file();
  void give_back_files(int count) { files_left_ += count; }

  // The place of a publication that begins now among all that do.
  uint64_t next_place();
  // For each content whether the publication in this place is to write it: no other one is, or only some that were begun after
  // it, and that will write it too. Of equal ones it is to write the first.
  std::vector<bool> claim(std::span<const Digest> digests, uint64_t place);
  void release_claims(uint64_t place, const std::vector<Digest>& digests);

 private:
  struct Work {
    const void* owner;
    std::function<void()> run;
  };
  // A block that has contents of keep(), as many as have not been let go of.
  struct Filling {
    Block block;
    uint64_t used = 0;
    size_t contents = 0;
  };

  void run_all();                                                            // until the thread ends
  bool take(Work& work, Order upto);                                         // under the mutex
  void start_all();                                                          // under the mutex
  unsigned most() const { return hurries_ != 0 ? hurried_count_ : count_; }  // threads that work at once
  void give_back(std::byte* block);
  std::shared_ptr<Filling> take_filling(uint64_t size);  // one that nobody else fills
  void put_filling(std::shared_ptr<Filling> filling);

  const unsigned count_, hurried_count_;
  const uint64_t most_brought_;
  std::atomic<int> files_left_;
  std::mutex mutex_;  // over everything below
  unsigned running_ = 0, working_ = 0, hurries_ = 0;
  std::condition_variable changed_;
  std::array<std::deque<Work>, 2> queues_;
  bool stopping_ = false;
  uint64_t places_ = 0;
  std::unordered_map<Digest, uint64_t> claimed_;  // by which publication
  uint64_t blocks_left_;
  std::vector<std::byte*> free_blocks_;            // of those that are left
  std::deque<std::shared_ptr<Filling>> fillings_;  // that have room, and that nobody fills just now
};

}  // namespace mneme
