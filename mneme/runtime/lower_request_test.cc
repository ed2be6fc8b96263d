#include "mneme/runtime/lower_request.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

LowerRequest request() {
  LowerRequest request;
  request.modules = {{"kernel", {std::byte{1}, std::byte{2}}, Bytes(7), {{"k", "k__1"}}}, {"f", {}, Bytes(0), {}}};
  request.kernels = {"kernel"};
  request.bindings = {{"state", DevicePtr(0x7b0000000000)}};
  return request;
}

TEST(LowerRequest, RoundTrip) {
  Result<LowerRequest> read = LowerRequest::decode(request().encode(), "file");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, request());
}

TEST(LowerRequest, RefusesDamage) {
  ByteVector bytes = request().encode();
  EXPECT_EQ(LowerReply::decode(bytes, "file").status().to_string(), "corrupt: file: offset 0: wrong magic or version");
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(LowerRequest::decode(bytes, "file").status().to_string(),
            "corrupt: file: offset 8: the content does not have this digest");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(LowerRequest::decode(ByteSpan(bytes).first(size), "file").status().code(), Code::corrupt);
}

TEST(LowerReply, RoundTrip) {
  LowerReply reply{{std::byte{5}}, {{"kernel", "unsupported: wgmma"}}};
  EXPECT_EQ(*LowerReply::decode(reply.encode(), "file"), reply);
  const LowerReply short_texts{{}, {{"a", "b"}, {"", ""}}};
  Result<LowerReply> read = LowerReply::decode(short_texts.encode(), "file");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, short_texts);
}

}  // namespace
}  // namespace mneme
