#include "mneme/pool/candidate_code.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

CandidateCode two_objects() {
  CandidateCode code;
  for (int i : {1, 2}) {
    CompiledCode& object = code.objects.emplace_back();
    object.image.bytes = ByteVector(3, std::byte(i));
    object.digest = digest_of(object.image.bytes);
  }
  code.object_of = {1, 0, 1};
  return code;
}

TEST(CandidateCode, ArrivesWithTheObjectOfEachInstance) {
  const auto read = decode_candidate_code(encode(two_objects()));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->object_of, two_objects().object_of);
  ASSERT_EQ(read->objects.size(), 2u);
  EXPECT_EQ(read->of_instance(0).image.bytes, ByteVector(3, std::byte(2)));
  EXPECT_EQ(read->of_instance(1).image.bytes, ByteVector(3, std::byte(1)));
}

TEST(CandidateCode, WhatIsDamagedIsRefused) {
  CandidateCode code = two_objects();
  code.object_of[1] = 2;
  EXPECT_EQ(decode_candidate_code(encode(code)).status().code(), Code::corrupt) << "there is no third object";
  ByteVector bytes = encode(two_objects());
  bytes.push_back(std::byte{0});
  EXPECT_EQ(decode_candidate_code(bytes).status().code(), Code::corrupt) << "a byte more";
  for (size_t size = 0; size + 1 < bytes.size(); ++size)
    EXPECT_EQ(decode_candidate_code(ByteSpan(bytes).first(size)).status().code(), Code::corrupt) << size << " bytes";
}

}  // namespace
}  // namespace mneme
