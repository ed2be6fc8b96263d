#include "mneme/base/compress.h"

#include <gtest/gtest.h>

#include <thread>

namespace mneme {
namespace {

// As the main thread does in a handler of exit().
TEST(Compress, AThreadCompressesAlsoWhenItsOtherVariablesAreGone) {
  static bool same = false;
  struct Last {
    bool used = false;
    ~Last() {
      const ByteVector bytes(100'000, std::byte{7});
      const auto back = decompress(compress(bytes, 1), Bytes(bytes.size()));
      same = back.ok() && *back == bytes;
    }
  };
  std::thread([] {
    thread_local Last last;  // made first, and so destroyed after what compress() keeps
    last.used = true;
    EXPECT_FALSE(compress(ByteVector(1000), 1).empty());
  }).join();
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace mneme
