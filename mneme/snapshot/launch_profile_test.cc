#include "mneme/snapshot/launch_profile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "mneme/base/memory_file.h"
#include "mneme/base/regular_file.h"
#include "mneme/snapshot/profile_file.h"

namespace mneme {
namespace {

using nlohmann::json;

Digest digest(const std::string& text) { return digest_of(std::as_bytes(std::span(text))); }

TimedLaunches timed(uint64_t launches, const std::vector<double>& times) {
  TimedLaunches made;
  made.launches = launches;
  for (double time : times) made.add_time(time);
  return made;
}

LaunchProfile example() {
  LaunchProfile profile{"cupti_activity", "cuda", "a GPU", {}};
  profile.kernels.push_back({"_Z4busyPf",
                             "busy(float*)",
                             digest("busy"),
                             900.5,
                             {{{{8, 1, 1}, {64, 2, 1}, Bytes(128), true, {2, 1, 1}}, timed(10, {100, 300})},
                              {{{4, 1, 1}, {64, 1, 1}, Bytes(), false}, timed(2, {})}}});
  profile.kernels.push_back({"_Z5plainv", "plain()", {}, {}, {{{{1, 1, 1}, {32, 1, 1}, Bytes(), false}, timed(3, {7, 7, 7})}}});
  return profile;
}

TEST(LaunchProfile, TotalsAreOfAllLaunchesWhetherTimedOrNot) {
  const LaunchProfile profile = example();
  const TimedLaunches launches = profile.kernels[0].launches();
  EXPECT_EQ(launches, (TimedLaunches{12, 2, 200, 100, 300}));
  EXPECT_EQ(profile.kernels[0].total(), 12 * 200.0) << "those of a shape that was not timed count as the kernel's others";
  EXPECT_EQ(profile.kernels[1].total(), 21.0);
  EXPECT_EQ(profile.total(), 2421.0);
  KernelProfile once{"once", "once", {}, 5000, {{{}, timed(1, {})}}};
  EXPECT_EQ(once.total(), 5000.0) << "where there is nothing but the first launch";
  once.first.reset();
  EXPECT_EQ(once.total(), 0.0);
}

TEST(LaunchProfile, ProcessesAddUp) {
  LaunchProfile sum;
  sum.add(example());
  EXPECT_EQ(sum, example());
  LaunchProfile other = example();
  other.kernels[0].first = 800;
  other.kernels[0].shapes[1].launches = timed(100, {10, 20, 30, 40});
  other.kernels[1].static_hash = digest("another file's");
  sum.add(other);
  ASSERT_EQ(sum.kernels.size(), 3u) << "a kernel is told by name and hash";
  EXPECT_EQ(sum.kernels[0].name, "_Z4busyPf");
  EXPECT_EQ(sum.kernels[0].first, 800.0);
  ASSERT_EQ(sum.kernels[0].shapes.size(), 2u);
  EXPECT_EQ(sum.kernels[0].shapes[0].launches, (TimedLaunches{102, 4, 25, 10, 40})) << "the shape with most launches first";
  EXPECT_EQ(sum.kernels[0].shapes[1].launches, (TimedLaunches{20, 4, 200, 100, 300}));
}

TEST(LaunchProfile, TheSlowestAreThoseThatCanBeRecorded) {
  LaunchProfile profile = example();
  profile.kernels[0].static_hash.reset();
  for (double time : {50.0, 5000.0, 500.0})
    profile.kernels.push_back({fmt::format("k{}", time), "", digest("k"), {}, {{{}, timed(1, {time})}}});
  EXPECT_EQ(slowest_kernels(profile, 2), (std::vector<std::string>{"k5000", "k500"}));
  EXPECT_EQ(slowest_kernels(profile, 100), (std::vector<std::string>{"k5000", "k500", "k50"}));
  EXPECT_TRUE(slowest_kernels({}, 1).empty());
}

TEST(LaunchProfile, IsReadAsItWasWritten) {
  const std::string text = encode_launch_profile(example());
  EXPECT_EQ(*decode_launch_profile(text, "p.json"), example());
  const json root = json::parse(text);
  EXPECT_EQ(root["total"], 2421.0);
  EXPECT_EQ(root["kernels"][0]["total"], 2400.0);
  EXPECT_EQ(root["kernels"][0]["launches"], 12);
  EXPECT_EQ(root["kernels"][0]["shapes"][0]["cluster"], json::array({2, 1, 1}));
  EXPECT_FALSE(root["kernels"][0]["shapes"][1].contains("cluster")) << "written where there is one";
  EXPECT_EQ(root["kernels"][1]["share"], 21.0 / 2421.0);
  EXPECT_EQ(json::parse(encode_launch_profile({}))["kernels"], json::array());
}

std::string refusal(const std::function<void(json&)>& change) {
  json root = json::parse(encode_launch_profile(example()));
  change(root);
  return decode_launch_profile(root.dump(), "p.json").status().to_string();
}

TEST(LaunchProfile, WhatIsNoneIsRefusedByItsPlace) {
  EXPECT_EQ(refusal([](json& j) { j["format"] = "mneme instances"; }),
            "corrupt: p.json: /format: 'mneme profile' expected, not 'mneme instances'");
  EXPECT_EQ(refusal([](json& j) { j["version"]["major"] = 2; }),
            "incompatible: p.json: the profile is of version 2, and this Mneme reads version 1: profile the program again");
  EXPECT_EQ(refusal([](json& j) { j["kernels"][0]["shapes"][0]["timed"] = 11; }),
            "corrupt: p.json: /kernels/0/shapes/0: 11 of 10 launches are timed");
  EXPECT_EQ(refusal([](json& j) { j["kernels"][0]["shapes"][0].erase("mean"); }),
            "corrupt: p.json: /kernels/0/shapes/0: the key 'mean' is missing");
  EXPECT_EQ(refusal([](json& j) { j["kernels"][1].erase("name"); }), "corrupt: p.json: /kernels/1: the key 'name' is missing");
  EXPECT_EQ(decode_launch_profile("x", "p.json").status().code(), Code::corrupt);
}

TEST(ProfileFile, HasWhatEachProcessToldLast) {
  auto file = ProfileFile::create();
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->sum(), LaunchProfile());
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      LaunchProfile profile = example();
      profile.kernels.pop_back();
      bool told = append_profile(file->descriptor(), std::to_string(i), profile).ok();
      told = append_profile(file->descriptor(), std::to_string(i), example()).ok() && told;
      ::_exit(told ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(file->sum()->kernels.at(0).launches().launches, 36u);
  EXPECT_EQ(file->sum()->kernels.at(1).launches().launches, 9u);
}

// A process that is killed while it writes leaves a part.
TEST(ProfileFile, APartOfAProfileDoesNotCount) {
  auto whole = ProfileFile::create();
  ASSERT_TRUE(append_profile(whole->descriptor(), "one", example()).ok());
  const ByteVector text = *read_whole(whole->descriptor());
  for (size_t size = 0; size < text.size(); ++size) {
    auto file = ProfileFile::create();
    ASSERT_TRUE(write_all(file->descriptor(), ByteSpan(text).subspan(0, size), "a part").ok());
    EXPECT_EQ(*file->sum(), LaunchProfile()) << size;
    ASSERT_TRUE(append_profile(file->descriptor(), "two", example()).ok());
    EXPECT_EQ(*file->sum(), example()) << size;
  }
}

TEST(ProfileFile, AnotherFileIsLeftAlone) {
  EXPECT_EQ(append_profile(-1, "one", example()).message(), "file descriptor -1 leads to no profile: the program has closed it");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(append_profile(ends[1], "one", example()).code(), Code::invalid_argument);
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "nothing was written";
  ::close(ends[0]);
}

}  // namespace
}  // namespace mneme
