#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "mneme/base/descriptor.h"
#include "mneme/base/testing/each_member.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme {
namespace {

TEST(RecordingOptions, RoundTrip) {
  RecordingOptions options;
  options.database = "/data/a \"quoted\" place";
  options.address_space = 8_GiB;
  options.kernels = "^(axpy|dot)";
  options.skip = 3;
  options.max = ~uint64_t{0};
  options.report = 5;
  EXPECT_EQ(*decode_recording_options(encode_recording_options(options)), options);
  options.max_bytes = 1_GiB;
  options.report = -1;
  EXPECT_EQ(*decode_recording_options(encode_recording_options(options)), options);
}

TEST(RecordingOptions, EveryMemberReachesTheRecorder) {
  using testing_members::change;
  RecordingOptions options;
  const RecordingOptions usual;
  const auto see = [&](const std::string& name) {
    auto read = decode_recording_options(encode_recording_options(options));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().to_string();
    EXPECT_EQ(*read, options) << name;
    EXPECT_NE(*read, usual) << name;
  };
  auto& [database, address_space, kernels, exclude, slowest, window, ranks, skip, every, max, distinct, max_launch_bytes,
         max_bytes, staging, in_flight, memory_extent, memory_from, profile, report, profile_file, owner] = options;
  change(database, "/data/db", "database", see);
  change(address_space, 8_GiB, "address_space", see);
  change(kernels, "^axpy", "kernels", see);
  change(exclude, "dot$", "exclude", see);
  change(slowest, {digest_of(ByteVector(1)), digest_of(ByteVector(2))}, "slowest", see);
  change(window, "2s:3s", "window", see);
  change(ranks, "0,3", "ranks", see);
  change(skip, 3u, "skip", see);
  change(every, 5u, "every", see);
  change(max, 7u, "max", see);
  for (Distinct word : {Distinct::shape, Distinct::arguments, Distinct::data}) change(distinct, word, "distinct", see);
  change(max_launch_bytes, Bytes(0), "max_launch_bytes", see);
  change(max_launch_bytes, 1_GiB, "max_launch_bytes", see);
  change(max_bytes, Bytes(0), "max_bytes", see);
  change(max_bytes, 1_GiB, "max_bytes", see);
  change(staging, Bytes(0), "staging", see);
  change(staging, 1_GiB, "staging", see);
  change(in_flight, 0u, "in_flight", see);
  change(in_flight, ~uint64_t{0}, "in_flight", see);
  change(memory_extent, MemoryExtent::all, "memory_extent", see);
  change(memory_from, MemoryFrom::driver, "memory_from", see);
  change(profile, true, "profile", see);
  change(report, 0, "report", see);
  change(report, 5, "report", see);
  change(profile_file, 0, "profile_file", see);
  change(profile_file, 6, "profile_file", see);
  change(owner, 4711, "owner", see);
}

TEST(RecordingOptions, StagingHasRoomForSomePagesOrIsNone) {
  RecordingOptions options;
  for (std::optional<Bytes> staging : {std::optional<Bytes>(), {Bytes(0)}, {kLeastStaging}, {1_GiB}}) {
    options.staging = staging;
    EXPECT_TRUE(check_recording_options(options).ok());
  }
  options.staging = 15_MiB;
  EXPECT_EQ(check_recording_options(options).to_string(),
            "invalid_argument: recorded memory cannot wait in 15.0 MiB: give --staging 16.0 MiB or more, or 0");
}

TEST(RecordingOptions, AnAddressSpaceIsOfWholeStepsUpToOneTiB) {
  const Bytes largest(uint64_t{1} << 40);
  RecordingOptions options;
  for (Bytes space : {2_MiB, 4_MiB, largest}) {
    options.address_space = space;
    EXPECT_TRUE(check_recording_options(options).ok()) << space.count;
  }
  for (Bytes space : {Bytes(0), 1_MiB, 3_MiB, largest + 2_MiB, largest - 1_MiB}) {
    options.address_space = space;
    EXPECT_EQ(check_recording_options(options).code(), Code::invalid_argument) << space.count;
    EXPECT_EQ(decode_recording_options(encode_recording_options(options)).status().code(), Code::invalid_argument) << space.count;
  }
}

TEST(RecordingOptions, Refusals) {
  RecordingOptions options;
  options.kernels = "(";
  EXPECT_TRUE(check_recording_options(options).message().starts_with("'(' is no regular expression: "));
  options = {};
  options.address_space = Bytes(uint64_t{2} << 40);
  EXPECT_EQ(check_recording_options(options).message(),
            "an address range of 2.00 TiB cannot be reserved: from 2.00 MiB to 1.00 TiB, in steps of 2.00 MiB");
  EXPECT_EQ(decode_recording_options("{}").status().to_string(),
            "corrupt: the recorder's options: /: the key 'database' is missing");
  options = {};
  options.exclude = "[";
  EXPECT_TRUE(check_recording_options(options).message().starts_with("'[' is no regular expression: "));
  options = {};
  options.window = "2:1";
  EXPECT_EQ(check_recording_options(options).message(), "no launch is in the window '2:1': it ends before it begins");
  EXPECT_EQ(parse_distinct("memory").status().message(), "launches are distinct by shape, arguments or data, not by 'memory'");
  options = {};
  options.database = "db\xff";
  EXPECT_EQ(check_recording_options(options).message(), "recording to db\\xff: its path is no UTF-8: name the folder otherwise");
  options.database = "d\u00e9p\u00f4t";
  EXPECT_TRUE(check_recording_options(options).ok());
}

TEST(RecordingReport, IsSharedThroughItsDescriptor) {
  auto report = RecordingReportMapping::create();
  ASSERT_TRUE(report.ok());
  auto other = RecordingReportMapping::attach(report->descriptor());
  ASSERT_TRUE(other.ok());
  (*other)->launches = 7;
  (**other).count(NotRecorded::stream_capture, "first");
  (**other).count(NotRecorded::stream_capture, "second");
  EXPECT_TRUE((*other)->failure.set("disk full"));
  EXPECT_FALSE((*other)->failure.set("something else"));
  EXPECT_EQ((*report)->launches, 7u);
  const auto& reason = (*report)->not_recorded[static_cast<size_t>(NotRecorded::stream_capture)];
  EXPECT_EQ(reason.launches, 2u);
  EXPECT_EQ(reason.kernel.get(), "first");
  EXPECT_EQ((*report)->failure.get(), "disk full");
}

// However many processes record it.
TEST(RecordingReport, AKernelCountsOnce) {
  const auto report = std::make_unique<RecordingReport>();
  const auto hash = [](uint64_t number) { return digest_of(std::as_bytes(std::span(&number, 1))); };
  for (int process = 0; process < 3; ++process)
    for (uint64_t kernel = 0; kernel < 100; ++kernel) report->count_kernel(hash(kernel));
  EXPECT_EQ(report->new_kernels, 100u);
  const Digest zeros;
  report->count_kernel(zeros);
  report->count_kernel(zeros);
  EXPECT_EQ(report->new_kernels, 101u);
  for (uint64_t kernel = 100; kernel < RecordingReport::kMostKernels - 1; ++kernel) report->count_kernel(hash(kernel));
  EXPECT_EQ(report->new_kernels, RecordingReport::kMostKernels);
  for (int process = 0; process < 3; ++process) report->count_kernel(hash(RecordingReport::kMostKernels));
  EXPECT_EQ(report->new_kernels, RecordingReport::kMostKernels + 3) << "there is no place left";
  report->count_kernel(hash(17));
  EXPECT_EQ(report->new_kernels, RecordingReport::kMostKernels + 3);
}

TEST(RecordingReport, SaysWhichOptionLeftALaunchOut) {
  const std::map<NotRecorded, std::string> words{
      {NotRecorded::excluded, "the kernel's name matches (--exclude)"},
      {NotRecorded::faster_kernel, "other kernels take more time in all (--slowest)"},
      {NotRecorded::outside_window, "outside of the window (--window)"},
      {NotRecorded::between, "between those that are recorded (--every)"},
      {NotRecorded::same_shape, "a launch of the same shape is recorded already (--distinct shape)"},
      {NotRecorded::same_arguments, "a launch with the same arguments is recorded already (--distinct arguments)"},
      {NotRecorded::same_data, "a launch with the same data is recorded already (--distinct data)"},
      {NotRecorded::large_launch, "the launch sees more memory than allowed (--max-launch-bytes)"}};
  for (const auto& [reason, text] : words) EXPECT_EQ(describe(reason), text);
}

// Launches that --skip, --max and --kernels leave out are not lost, nor those of a kind that is not recorded.
TEST(RecordingReport, LostAreThoseThatWereToBeRecorded) {
  for (size_t i = 0; i < kNotRecordedReasons; ++i) {
    auto report = RecordingReportMapping::create();
    ASSERT_TRUE(report.ok());
    const auto reason = static_cast<NotRecorded>(i);
    const bool lost = reason == NotRecorded::concurrent || reason == NotRecorded::waits_for_host ||
                      reason == NotRecorded::damaged_file || reason == NotRecorded::ended;
    for (int launch = 0; launch < 2; ++launch) (*report)->count(reason, "kernel");
    EXPECT_EQ((*report)->lost(), lost ? 2u : 0u) << describe(reason);
  }
}

TEST(RecordingReport, AnotherFileIsNone) {
  EXPECT_EQ(RecordingReportMapping::attach(0).status().message(), "file descriptor 0 is no report of a recording");
  EXPECT_EQ(RecordingReportMapping::attach(-1).status().message(), "file descriptor -1 is no report of a recording");
  auto report = RecordingReportMapping::create();
  ASSERT_TRUE(report.ok());
  for (size_t size : {sizeof(RecordingReport) - 1, sizeof(RecordingReport) + 1}) {  // of another Mneme
    ASSERT_EQ(::ftruncate(report->descriptor(), static_cast<off_t>(size)), 0);
    EXPECT_FALSE(RecordingReportMapping::attach(report->descriptor()).ok()) << size;
  }
}

TEST(RecordingReport, ATextIsCutToItsPlaceAndSetOnce) {
  struct {
    SharedText<8> whole, cut;
    char behind;
  } memory{};
  EXPECT_EQ(memory.whole.get(), "");
  EXPECT_TRUE(memory.whole.set("1234567"));
  EXPECT_FALSE(memory.whole.set("x"));
  memory.behind = 'b';
  EXPECT_TRUE(memory.cut.set("12345678"));
  EXPECT_EQ(memory.whole.get(), "1234567");
  EXPECT_EQ(memory.cut.get(), "1234567");
  EXPECT_EQ(memory.behind, 'b');
}

TEST(RecordingReport, EveryReasonHasWords) {
  for (size_t i = 0; i < kNotRecordedReasons; ++i) EXPECT_FALSE(describe(static_cast<NotRecorded>(i)).empty()) << i;
  EXPECT_TRUE(describe(static_cast<NotRecorded>(kNotRecordedReasons)).empty());
}

TEST(RecordingReport, AFileOfItsSizeAloneIsNone) {
  const Descriptor file(::memfd_create("no report", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.number(), sizeof(RecordingReport)), 0);
  EXPECT_EQ(RecordingReportMapping::attach(file.number()).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mneme
