#include "mneme/pool/conclusion.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr ReplayStage kStages[] = {ReplayStage::preparing, ReplayStage::compiling, ReplayStage::compiled, ReplayStage::loading,
                                   ReplayStage::masking,   ReplayStage::running,   ReplayStage::done};

// Every code in every stage.
TEST(Conclusion, AFailureIsToldByItsCodeAndStage) {
  const std::pair<Code, std::optional<Failure>> kCodes[] = {
      {Code::invalid_argument, {}},
      {Code::not_found, {}},
      {Code::unsupported, {}},
      {Code::unavailable, Failure::worker_lost},
      {Code::incompatible, {}},
      {Code::corrupt, {}},
      {Code::exhausted, {}},
      {Code::io, Failure::worker_lost},
      {Code::device_fault, Failure::device_fault},
      {Code::timeout, Failure::run_timeout},
      {Code::internal, Failure::worker_lost},
  };
  ASSERT_EQ(std::size(kCodes), static_cast<size_t>(Code::internal));
  for (const auto& [code, failure] : kCodes)
    for (const ReplayStage stage : kStages) {
      ReplayResult result;
      result.stage = stage;
      result.failure = Status(code, "why");
      const bool of_code = stage == ReplayStage::compiling || stage == ReplayStage::loading;
      const PoolResult concluded = pool_result_of(result);
      EXPECT_EQ(concluded.failure, failure.value_or(of_code ? Failure::compile_error : Failure::invalid_launch))
          << to_string(code) << " in stage " << static_cast<int>(stage);
      EXPECT_EQ(concluded.reason, fmt::format("{}: why", to_string(code)));
    }
}

TEST(Conclusion, WhatRanIsRightOnlyWhereItIsVerified) {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.executed = true;
  result.mismatches = {{"global table", DevicePtr(0x1000), Bytes(4), 1, 0, {}, false, ""}};
  const PoolResult wrong = pool_result_of(result);
  EXPECT_EQ(wrong.failure, Failure::wrong_result);
  EXPECT_EQ(wrong.reason, "memory differs in 1 place, first global table (1 byte, from offset 0 on)");
  EXPECT_FALSE(wrong.details.together.verified);
  result.verified = true;
  result.mismatches.clear();
  const PoolResult right = pool_result_of(result);
  EXPECT_EQ(right.failure, Failure::none);
  EXPECT_EQ(right.reason, "");
  EXPECT_TRUE(right.details.together.verified);
}

// A result is in a log many times; but zero and false say something.
TEST(Conclusion, OnlyWhatSaysNothingIsLeftOut) {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.executed = result.verified = true;
  result.shared_with = digest_of(ByteVector(1));
  result.reg_usage = 0;
  result.occupancy = {0, 0.0};
  const Json whole = to_json(result), details = to_json(pool_result_of(result).details);
  for (const auto& [key, value] : whole.items()) {
    const bool says_nothing = value.is_null() || value == Json::array() || value == Json::object();
    const bool kept = key == "exec_time" || (!says_nothing && key != "shared_with");
    EXPECT_EQ(details.contains(key), kept) << key;
    if (kept) EXPECT_EQ(details[key], value) << key;
  }
  EXPECT_EQ(details["reg_usage"], 0);
}

}  // namespace
}  // namespace mneme
