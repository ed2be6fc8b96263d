#include "mneme/cli/recording_view.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "mneme/cli/supervise.h"

namespace mneme::cli {
namespace {

class Summary : public testing::Test {
 protected:
  Summary() : report_(*RecordingReportMapping::create()) { options_.database = "/data/db"; }
  ~Summary() override { ::close(report_.descriptor()); }
  std::string text() { return fmt::format("{}", fmt::join(recording_summary(*report_, options_), "\n")); }

  RecordingReportMapping report_;
  RecordingOptions options_;
};

TEST_F(Summary, SaysWhatWhereAndHowLarge) {
  report_->recorders = 1;
  report_->launches = 3;
  report_->instances = 3;
  report_->new_kernels = 1;
  report_->state_bytes = 3 << 20;
  report_->database_bytes = 2048;
  EXPECT_EQ(text(), "recorded 3 launches of 1 kernel in /data/db (3.00 MiB of memory, 2.00 KiB on disk)");
  report_->copied_bytes = 2 << 20;
  report_->new_page_bytes = 1 << 20;
  EXPECT_EQ(text(),
            "recorded 3 launches of 1 kernel in /data/db (3.00 MiB of memory, 2.00 KiB on disk)\n"
            "changed: 2.00 MiB of pages; contents of 1.00 MiB were new to the database");
}

TEST_F(Summary, ALaunchThatWasBeingStoredMayBeThereOrNot) {
  report_->recorders = 1;
  report_->launches = report_->storing = 1;
  const std::string perhaps = "; perhaps 1 more, which was being stored when the program ended (mneme ls tells)";
  EXPECT_EQ(text(), "recorded nothing in /data/db" + perhaps);
  report_->instances = report_->new_kernels = 1;
  EXPECT_EQ(text(), "recorded 1 launch of 1 kernel in /data/db (0 B of memory, 0 B on disk)" + perhaps);
}

TEST_F(Summary, SaysWhatWasNotRecordedAndWhy) {
  report_->recorders = 1;
  report_->launches = 100;
  report_->allocations = 7;
  report_->shared = 5;
  report_->loads = 3;
  report_->instances = 1;
  report_->duplicates = 2;
  report_->new_kernels = 1;
  (*report_).count(NotRecorded::beyond_max, "axpy(int)");
  (*report_).count(NotRecorded::stream_capture, "dot(int)");
  report_->copied_bytes = 3000;
  report_->new_page_bytes = 2048;
  report_->copying = 500'000'000;
  report_->hashing = 250'000'000;
  report_->waiting = 2'000'000'000;
  report_->opening = 125'000'000;
  report_->capturing = 3'000'000'000;
  report_->pinning = 62'500'000;
  report_->digesting = 1'000'000'000;
  report_->ending = 4'000'000'000;
  report_->committing = 5'000'000'000;
  report_->failure.set("disk full");
  EXPECT_EQ(
      text(),
      "recorded 1 launch of 1 kernel in /data/db (0 B of memory, 0 B on disk); 2 launches were the same as recorded ones\n"
      "changed: 2.93 KiB of pages; contents of 2.00 KiB were new to the database\n"
      "not recorded: 1 launch: the kernel has as many recorded launches as --max allows [first: axpy(int)]\n"
      "not recorded: 1 launch: launched into a graph: what graphs launch is recorded on NVIDIA GPUs alone, at the driver [first: "
      "dot(int)]\n"
      "shared: 5 handles of device memory that the recorder has placed: only processes of the same mneme record open them; for "
      "others record with --memory-from driver\n"
      "recording ended early: disk full");
  const char* const told = R"json({
    "database": "/data/db", "processes": 1, "launches": 100, "allocations": 7, "shared_handles": 5, "loads": 3, "recorded": 1, "recorded_before": 2, "being_stored_at_the_end": 0,
    "kernels": 1, "memory_bytes": 0, "database_bytes": 0, "copied_bytes": 3000, "new_page_bytes": 2048, "copying_s": 0.5, "hashing_s": 0.25,
    "waiting_s": 2.0, "opening_s": 0.125, "capturing_s": 3.0, "pinning_s": 0.0625, "digesting_s": 1.0, "ending_s": 4.0, "committing_s": 5.0,
    "ended_early": "disk full", "not_recorded": [
      {"reason": "the kernel has as many recorded launches as --max allows", "launches": 1, "lost": false,
       "first_kernel": "axpy(int)"},
      {"reason": "launched into a graph: what graphs launch is recorded on NVIDIA GPUs alone, at the driver", "launches": 1, "lost": false, "first_kernel": "dot(int)"}]
  })json";
  EXPECT_EQ(to_json(*report_, options_), nlohmann::json::parse(told));
}

TEST_F(Summary, AsJsonWithoutAFailureItIsNull) { EXPECT_TRUE(to_json(*report_, options_).at("ended_early").is_null()); }

TEST_F(Summary, OneThatWasTheSameIsOne) {
  report_->recorders = 1;
  report_->launches = report_->duplicates = 1;
  EXPECT_EQ(text(),
            "recorded 0 launches of 0 kernels in /data/db (0 B of memory, 0 B on disk); 1 launch was the same as a recorded one");
}

TEST_F(Summary, SaysFirstThatLaunchesAreLost) {
  report_->recorders = 1;
  report_->launches = 3;
  report_->instances = report_->new_kernels = 1;
  (*report_).count(NotRecorded::beyond_max, "axpy(int)");
  EXPECT_EQ(text().find("lost"), std::string::npos);
  (*report_).count(NotRecorded::ended, "axpy(int)");
  const std::string recorded = "recorded 1 launch of 1 kernel in /data/db (0 B of memory, 0 B on disk)";
  EXPECT_EQ(text().find(recorded + "; 1 launch that was to be recorded is lost\n"), 0u);
  (*report_).count(NotRecorded::concurrent, "axpy(int)");
  EXPECT_EQ(text().find(recorded + "; 2 launches that were to be recorded are lost\n"), 0u);
}

TEST_F(Summary, SaysWhyThereIsNothing) {
  EXPECT_EQ(text(),
            "recorded nothing in /data/db: no program that was built for Mneme ran (build with `mneme config cxxflags` and "
            "`mneme config ldflags`)");
  report_->recorders = 1;
  EXPECT_EQ(text(), "recorded nothing in /data/db: the program launched no kernel");
}

TEST(RecordedTimes, AreToldWithWhatTheyAreOf) {
  EXPECT_EQ(format_recorded_time({"cupti_activity", 15200, 17, 12000, 12340}),
            "12.34 us, the median of 17 launches that were not recorded; 15.20 us when recorded (cupti_activity)");
  EXPECT_EQ(format_recorded_time({"steady_clock", std::nullopt, 1, 500, 500}),
            "500 ns, the median of 1 launch that was not recorded (steady_clock)");
  EXPECT_EQ(format_recorded_time({"cuda_event", 2000, 0, 0, 0}), "2.00 us when recorded (cuda_event)");
}

TEST(RecordedTimes, SayHowOftenTheShapeRan) {
  EXPECT_EQ(format_shape_launches({12, 1.2e6}), "12 launches of this shape in the program, 1.20 ms in all");
  EXPECT_EQ(format_shape_launches({1, std::nullopt}), "1 launch of this shape in the program");
}

TEST(RecordedTimes, OfAKernelAddUpWithEachShapeOnce) {
  KernelDocument busy, idle, untimed;
  busy.kernel.demangled = "busy(\x1b)";
  idle.kernel.demangled = "idle()";
  InstanceRecord one;
  one.grid = {8, 1, 1};
  one.block = {64, 1, 1};
  one.recorded_time = RecordedTime{"cuda_event", 2000.0, 10, 900, 1000};
  InstanceRecord same_shape = one, other_shape = one;
  same_shape.recorded_time = RecordedTime{"cuda_event", 3000.0, 12, 900, 1000};
  other_shape.block = {32, 1, 1};
  other_shape.recorded_time = RecordedTime{"cuda_event", std::nullopt, 3, 5000, 6000};
  busy.instances = {one, same_shape, other_shape};
  InstanceRecord short_one = one;
  short_one.recorded_time = RecordedTime{"cuda_event", 5000.0, 0, 0, 0};
  idle.instances = {short_one};
  untimed.instances = {InstanceRecord()};

  const auto time = time_in_program(busy);
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->launches, 2u + 12 + 3);
  EXPECT_EQ(time->nanoseconds, 2000 + 3000 + 12 * 1000 + 3 * 6000);
  std::swap(busy.instances[0], busy.instances[1]);
  EXPECT_EQ(time_in_program(busy)->launches, time->launches) << "the one that knows most, wherever it stands";
  EXPECT_EQ(time_in_program(busy)->nanoseconds, time->nanoseconds);
  EXPECT_FALSE(time_in_program(untimed).has_value());
  EXPECT_EQ(format_times_in_program({idle, untimed, busy}),
            "TIME IN PROGRAM  PART    LAUNCHES  KERNEL\n"
            "35.00 us         87.5 %  17        busy(\\x1b)\n"
            "5.00 us          12.5 %  1         idle()\n");
  EXPECT_EQ(format_times_in_program({untimed}), "");
  idle.instances[0].recorded_time->captured = 0;
  EXPECT_EQ(format_times_in_program({idle}),
            "TIME IN PROGRAM  PART   LAUNCHES  KERNEL\n"
            "0 ns             0.0 %  1         idle()\n")
      << "a clock that is too coarse for all of them";
}

// The launches that were not recorded are counted by shape, and each instance of a shape tells of all of them.
TEST(RecordedTimes, EachMemberOfAShapeMakesAnother) {
  InstanceRecord one;
  one.grid = {8, 1, 1};
  one.block = {64, 1, 1};
  one.recorded_time = RecordedTime{"cuda_event", std::nullopt, 10, 900, 1000};
  const auto launches_with = [&](const std::function<void(InstanceRecord&)>& change) {
    KernelDocument document;
    document.instances = {one, one};
    change(document.instances[1]);
    return time_in_program(document)->launches;
  };
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.parameters = ByteVector(8); }), 10u) << "no member of the shape";
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.grid.z = 2; }), 20u);
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.block.y = 2; }), 20u);
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.dynamic_shared_memory = Bytes(16); }), 20u);
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.cooperative = true; }), 20u);
  EXPECT_EQ(launches_with([](InstanceRecord& i) { i.cluster = {2, 1, 1}; }), 20u);
}

TEST(Arguments, AreReadByTheirKind) {
  ByteVector bytes(24);
  uint64_t pointer = 0x7a0000000000;
  float number = 2.5f;
  int32_t count = -3;
  std::memcpy(bytes.data(), &pointer, 8);
  std::memcpy(bytes.data() + 8, &number, 4);
  std::memcpy(bytes.data() + 12, &count, 4);
  bytes[16] = std::byte{0xab};
  EXPECT_EQ(format_argument({Parameter::Kind::pointer, "p", "ptr", 0, 8, 8}, bytes), "0x7a0000000000");
  EXPECT_EQ(format_argument({Parameter::Kind::floating, "f", "float", 8, 4, 4}, bytes), "2.5");
  EXPECT_EQ(format_argument({Parameter::Kind::integer, "i", "i32", 12, 4, 4}, bytes), "-3");
  EXPECT_EQ(format_argument({Parameter::Kind::aggregate, "s", "struct.S", 16, 3, 1}, bytes), "ab0000");
  EXPECT_EQ(format_argument({Parameter::Kind::integer, "i", "i32", 22, 4, 4}, bytes), "?");
}

TEST(Arguments, HaveTheirWidthAndSign) {
  ByteVector bytes(16, std::byte{0xff});
  const double number = -0.1;
  std::memcpy(bytes.data() + 8, &number, 8);
  const auto shown = [&](Parameter::Kind kind, uint64_t offset, uint64_t size) {
    return format_argument({kind, "a", "", offset, size, 1}, bytes);
  };
  bytes[1] = bytes[3] = bytes[7] = std::byte{0x7f};
  EXPECT_EQ(shown(Parameter::Kind::integer, 0, 1), "-1");
  EXPECT_EQ(shown(Parameter::Kind::integer, 1, 1), "127");
  EXPECT_EQ(shown(Parameter::Kind::integer, 0, 2), "32767");
  EXPECT_EQ(shown(Parameter::Kind::integer, 4, 2), "-1");
  EXPECT_EQ(shown(Parameter::Kind::integer, 0, 4), "2147450879");
  EXPECT_EQ(shown(Parameter::Kind::integer, 0, 8), "9223372034707259391");
  EXPECT_EQ(shown(Parameter::Kind::integer, 0, 3), "ff7fff") << "an i24: its bytes";
  EXPECT_EQ(shown(Parameter::Kind::floating, 8, 8), "-0.1");
  EXPECT_EQ(shown(Parameter::Kind::floating, 0, 2), "ff7f");
  EXPECT_EQ(shown(Parameter::Kind::pointer, 8, 8), "0xbfb999999999999a");
  EXPECT_EQ(shown(Parameter::Kind::aggregate, 14, 2), "b9bf") << "the last bytes";
  EXPECT_EQ(shown(Parameter::Kind::aggregate, 15, 2), "?");
  EXPECT_EQ(shown(Parameter::Kind::aggregate, 17, 0), "?");
}

TEST(Views, OfMemoryCountKindsAndPagesThatChanged) {
  const auto page = [](uint64_t number) { return digest_of(std::as_bytes(std::span(&number, 1))); };
  const auto region = [](Region::Kind kind, std::vector<Digest> pages) {
    return Region{kind, DevicePtr(0x1000), Bytes(65536 * pages.size()), "", std::move(pages)};
  };
  MemoryState before, after;
  before.regions = {region(Region::Kind::allocation, {page(1), page(2), page(3)}),
                    region(Region::Kind::allocation, {page(1)}),
                    region(Region::Kind::allocation, {}),
                    region(Region::Kind::global, {page(4)}),
                    region(Region::Kind::global, {page(5)}),
                    region(Region::Kind::host, {page(6), page(6)}),
                    region(Region::Kind::mapped, {page(7)}),
                    region(Region::Kind::mapped, {page(8)}),
                    region(Region::Kind::array, {page(9)}),
                    region(Region::Kind::array, {page(9)}),
                    region(Region::Kind::managed, {page(9)})};
  const auto figures = [&] {
    const auto& [allocations, globals, host, mapped, managed, arrays, pages, changed_pages] = view_memory(before, after);
    return std::vector<uint64_t>{allocations, globals, host, mapped, managed, arrays, pages, changed_pages};
  };
  after = before;
  EXPECT_EQ(figures(), (std::vector<uint64_t>{3, 2, 1, 2, 1, 2, 13, 0}));
  after.regions[0].pages[1] = page(9);
  after.regions[5].pages[0] = page(9);
  EXPECT_EQ(figures(), (std::vector<uint64_t>{3, 2, 1, 2, 1, 2, 13, 2}));
  after.regions[0].pages.pop_back();  // which no recording is
  after.regions.pop_back();
  EXPECT_EQ(figures(), (std::vector<uint64_t>{3, 2, 1, 2, 1, 2, 13, 4}));
}

TEST(Views, OfAnInstanceHaveEveryMemberInItsOwnPlace) {
  KernelRecord kernel;
  kernel.static_hash = digest_of(ByteVector(1));
  kernel.name = "_Z1kPf";
  kernel.demangled = "k(float*)";
  kernel.source = "k.cu";
  kernel.target = "nvptx64";
  kernel.arch = "sm_90";
  kernel.pipeline = "default<O2>";
  kernel.parameters = {{Parameter::Kind::integer, "n", "i32", 0, 4, 2}, {Parameter::Kind::aggregate, "s", "struct.S", 4, 2, 1}};
  kernel.parameter_bytes = 6;
  kernel.globals = {{"g", 7, 8, true, false, false}, {"h", 9, 16, false, true, false}, {"i", 11, 32, false, false, true}};
  kernel.level = CodeLevel::cubin;
  kernel.images = {{CodeImageRecord::Kind::cubin, digest_of(ByteVector(3)), Bytes(4784)}};
  EXPECT_EQ(
      to_json(kernel),
      (nlohmann::json{
          {"static_hash", digest_of(ByteVector(1)).hex()},
          {"name", "_Z1kPf"},
          {"demangled", "k(float*)"},
          {"source", "k.cu"},
          {"target", "nvptx64"},
          {"arch", "sm_90"},
          {"pipeline", "default<O2>"},
          {"parameters",
           {{{"kind", "integer"}, {"name", "n"}, {"type", "i32"}, {"offset", 0}, {"size", 4}, {"alignment", 2}},
            {{"kind", "aggregate"}, {"name", "s"}, {"type", "struct.S"}, {"offset", 4}, {"size", 2}, {"alignment", 1}}}},
          {"parameter_bytes", 6},
          {"globals",
           {{{"name", "g"}, {"size", 7}, {"alignment", 8}, {"constant_space", true}, {"managed", false}, {"escapes", false}},
            {{"name", "h"}, {"size", 9}, {"alignment", 16}, {"constant_space", false}, {"managed", true}, {"escapes", false}},
            {{"name", "i"}, {"size", 11}, {"alignment", 32}, {"constant_space", false}, {"managed", false}, {"escapes", true}}}},
          {"code", "cubin"},
          {"images",
           {{{"kind", "cubin"},
             {"bytes", 4784},
             {"digest", digest_of(ByteVector(3)).hex()},
             {"file", "Image_" + digest_of(ByteVector(3)).hex() + ".cubin"}}}}}));
  EXPECT_EQ(format_image(kernel.images[0], kernel),
            "cubin, sm_90, 4.67 KiB (Image_" + digest_of(ByteVector(3)).hex() + ".cubin)");
  InstanceRecord instance;
  instance.static_hash = kernel.static_hash;
  instance.dynamic_hash = digest_of(ByteVector(2));
  instance.grid = {2, 3, 4};
  instance.block = {5, 6, 7};
  instance.dynamic_shared_memory = Bytes(128);
  instance.cooperative = true;
  instance.parameters = {std::byte{9}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xab}, std::byte{0xcd}};
  instance.device_kind = "cuda";
  instance.device_name = "a GPU";
  instance.state_bytes = Bytes(4096);
  instance.recorded_at = "2026-01-01T00:00:00Z";
  instance.mneme_version = "9.9";
  instance.annotations = {{DevicePtr(0x2000), Bytes(40), "forces", {ElementType::f32, 3, ErrorKind::ulp}}};
  nlohmann::json expected = {
      {"dynamic_hash", digest_of(ByteVector(2)).hex()},
      {"recorded_time", {}},
      {"shape_launches", {}},
      {"grid", {{"x", 2}, {"y", 3}, {"z", 4}}},
      {"block", {{"x", 5}, {"y", 6}, {"z", 7}}},
      {"dynamic_shared_memory", 128},
      {"cooperative", true},
      {"cluster", {}},
      {"attributes", nlohmann::json::object()},
      {"arguments", {{{"name", "n"}, {"type", "i32"}, {"value", "9"}}, {{"name", "s"}, {"type", "struct.S"}, {"value", "abcd"}}}},
      {"annotations", {{{"address", "0x2000"}, {"bytes", 40}, {"tag", "forces"}, {"tolerance", "f32, 3, ulp"}}}},
      {"memory_bytes", 4096},
      {"memory_extent", "all"},
      {"trimmed", {}},
      {"disk_bytes", {}},
      {"device", "cuda"},
      {"device_name", "a GPU"},
      {"recorded_at", "2026-01-01T00:00:00Z"},
      {"mneme_version", "9.9"}};
  EXPECT_EQ(to_json(kernel, instance, std::nullopt), expected);
  instance.recorded_time = RecordedTime{"cuda_event", 2000.0, 3, 900, 1000};
  expected["recorded_time"] = to_json(*instance.recorded_time);
  instance.shape_launches = ShapeLaunches{12, 13000.0};
  expected["shape_launches"] = {{"count", 12}, {"total", 13000.0}};
  expected["disk_bytes"] = 107;
  instance.cluster = {2, 1, 1};
  instance.attributes = {{"priority", "-1"}};
  expected["cluster"] = {{"x", 2}, {"y", 1}, {"z", 1}};
  expected["attributes"] = {{"priority", "-1"}};
  instance.trimmed = Trimming{{digest_of(ByteVector(4))}, 3, Bytes(3 << 16)};
  expected["trimmed"] = {{"of", {digest_of(ByteVector(4)).hex()}}, {"pages", 3}, {"bytes", 3 << 16}};
  EXPECT_EQ(to_json(kernel, instance, InstanceSize{Bytes(7), Bytes(100)}), expected);
}

TEST(Table, AlignsColumns) {
  EXPECT_EQ(format_table({{"A", "LONGER", "z"}, {"abc", "d", "last is not padded"}}),
            "A    LONGER  z\nabc  d       last is not padded\n");
}

TEST(Supervise, ReturnsHowTheProgramEnded) {
  auto exited = run_supervised("/bin/sh", {"sh", "-c", "exit $CODE"}, {{"CODE", "7"}});
  ASSERT_TRUE(exited.ok());
  EXPECT_EQ(WEXITSTATUS(*exited), 7);
  auto killed = run_supervised("/bin/sh", {"sh", "-c", "kill -ABRT $$"}, {});
  EXPECT_TRUE(WIFSIGNALED(*killed));
  EXPECT_EQ(WTERMSIG(*killed), SIGABRT);
  EXPECT_EQ(run_supervised("/does/not/exist", {"x"}, {}).status().message(),
            "running /does/not/exist: No such file or directory");
}

TEST(Supervise, EndsAsTheProgramDid) {
  for (const char* command : {"exit 9", "kill -TERM $$"}) {
    pid_t process = ::fork();
    if (process == 0) end_as(*run_supervised("/bin/sh", {"sh", "-c", command}, {}));
    int status = 0;
    ::waitpid(process, &status, 0);
    if (command[0] == 'e')
      EXPECT_EQ(WEXITSTATUS(status), 9);
    else
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  }
}

// A supervisor that is killed leaves no program behind, which would write to a recording that nobody tells of.
TEST(Supervise, TheProgramEndsWithItsSupervisor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    end_as(*run_supervised("/bin/sh", {"sh", "-c", fmt::format("echo there >&{}; exec sleep 600", ends[1])}, {}));
  }
  ::close(ends[1]);
  char said[16];
  ASSERT_GT(::read(ends[0], said, sizeof said), 0);
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  pollfd end{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 30'000), 1);
  EXPECT_EQ(end.revents & POLLIN ? ::read(ends[0], said, sizeof said) : 0, 0) << "nobody can write there any more";
  ::close(ends[0]);
}

TEST(Supervise, PassesSignalsOn) {
  pid_t process = ::fork();
  if (process == 0)
    end_as(*run_supervised("/bin/sh", {"sh", "-c", "trap 'exit 5' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"}, {}));
  int status = 0;
  ::waitpid(process, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

}  // namespace
}  // namespace mneme::cli
