#include "mneme/memory/own_state.h"

#include <gtest/gtest.h>

#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

class OwnStateTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"first", "second"}) places_.push_back(*device_.define_global(name, 100_KiB));
    module_ = std::move(device_.load({DeviceKind::fake, {}})).value();
    stream_ = std::move(device_.create_stream()).value();
  }
  void set(std::byte value) {
    for (const MemoryRange& place : places_) ASSERT_TRUE(stream_->fill(place.address, value, place.size).ok());
  }
  Result<OwnState> keep() { return OwnState::keep(device_, *stream_, *module_, {"first", "left out", "second"}); }
  void fail(std::string_view failing) {
    device_.set_failures([=](std::string_view call) { return call == failing ? error(Code::exhausted, "scripted") : Status(); });
  }

  fake::FakeDevice device_;
  std::vector<MemoryRange> places_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OwnStateTest, EveryVariableBeginsAnewEachTime) {
  set(std::byte{1});
  auto state = keep();
  ASSERT_TRUE(state.ok()) << state.status().to_string();
  for (int i = 2; i < 4; ++i) {
    set(std::byte(i));
    ASSERT_TRUE(state->put_back(*stream_).ok());
    for (const MemoryRange& place : places_) {
      ByteVector bytes(place.size.count);
      ASSERT_TRUE(stream_->copy_to_host(bytes, place.address).ok());
      EXPECT_EQ(bytes, ByteVector(bytes.size(), std::byte{1}));
    }
  }
}

TEST_F(OwnStateTest, WhatCannotBeKeptIsNamed) {
  fail("global");
  EXPECT_EQ(keep().status().to_string(), "exhausted: looking up the compiled code's own variable 'first': scripted");
  fail("allocate");
  EXPECT_EQ(keep().status().to_string(),
            "exhausted: keeping what the compiled code's own variable 'first' begins with: scripted");
  fail("copy");
  EXPECT_EQ(keep().status().to_string(), "exhausted: scripted");
}

}  // namespace
}  // namespace mneme
