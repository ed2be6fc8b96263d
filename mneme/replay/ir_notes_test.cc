#include "mneme/replay/ir_notes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace mneme {
namespace {

class IrNotesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("mneme-ir-notes-{}", ::getpid());
    std::filesystem::remove_all(folder_);
    cache_ = std::make_shared<DiskCache>(CachePlace{folder_, 1_MiB});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  IrNotes notes(const std::string& kernel = "k") const { return IrNotes(cache_, Digest{{1, 2}}, kernel, "sm_90"); }
  // Puts other content in the place of all entries, each whole by its checksum.
  void replace_all(ByteSpan content) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      if (const std::string name = entry.path().filename(); name.size() == 32)
        cache_->put(Digest::from_hex(name).value(), content);
  }

  Path folder_;
  std::shared_ptr<DiskCache> cache_;
};

PointerUse some_use() {
  using enum PointerRoot::Kind;
  return {{{.kind = parameter, .parameter = 3, .read = true},
           {.kind = member, .parameter = 1, .offset = 24, .written = true},
           {.kind = variable, .variable = "counter", .read = true, .written = true}},
          "a pointer that is loaded from memory",
          true};
}

TEST_F(IrNotesTest, WhatIsKeptIsReadByTheSameIrAndKernel) {
  EXPECT_FALSE(notes().required_block().has_value());
  EXPECT_FALSE(notes().pointer_use().has_value());
  notes().put_required_block(Dim3{128, 2, 1});
  notes("free").put_required_block(std::nullopt);
  notes().put_pointer_use(some_use());

  EXPECT_EQ(notes().required_block(), std::optional(std::optional(Dim3{128, 2, 1})));
  ASSERT_TRUE(notes("free").required_block().has_value());
  EXPECT_FALSE(notes("free").required_block()->has_value());
  EXPECT_FALSE(notes("other").required_block().has_value());
  EXPECT_FALSE(IrNotes(cache_, Digest(), "k", "sm_90").required_block().has_value());
  EXPECT_FALSE(IrNotes(cache_, Digest{{1, 2}}, "k", "sm_80").pointer_use().has_value());
  EXPECT_FALSE(notes("free").pointer_use().has_value());

  const auto use = notes().pointer_use();
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->other, some_use().other);
  EXPECT_TRUE(use->synchronises);
  ASSERT_EQ(use->roots.size(), 3u);
  for (size_t i = 0; i < use->roots.size(); ++i) {
    const PointerRoot wanted = some_use().roots[i], found = use->roots[i];
    EXPECT_EQ(found.kind, wanted.kind) << i;
    EXPECT_EQ(found.parameter, wanted.parameter) << i;
    EXPECT_EQ(found.offset, wanted.offset) << i;
    EXPECT_EQ(found.variable, wanted.variable) << i;
    EXPECT_EQ(found.read, wanted.read) << i;
    EXPECT_EQ(found.written, wanted.written) << i;
  }
}

TEST_F(IrNotesTest, WhatMakesNoSenseIsNotThere) {
  notes().put_required_block(Dim3{128, 1, 1});
  notes().put_pointer_use(some_use());
  for (const size_t size : {1, 4, 11, 13, 40, 200}) {
    replace_all(ByteVector(size, std::byte{0xff}));
    EXPECT_FALSE(notes().required_block().has_value()) << size;
    EXPECT_FALSE(notes().pointer_use().has_value()) << size;
  }
}

TEST_F(IrNotesTest, WithoutACacheNothingIsKept) {
  const IrNotes none(nullptr, Digest(), "k", "sm_90");
  none.put_required_block(Dim3{1, 1, 1});
  none.put_pointer_use({});
  EXPECT_FALSE(none.required_block().has_value());
  EXPECT_FALSE(none.pointer_use().has_value());
}

}  // namespace
}  // namespace mneme
