#include "mneme/store/database.h"

#include <gmock/gmock.h>

#include <thread>

#include "mneme/store/pack.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;

TEST(Database, PublishedInstanceIsReadBack) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path() / "made" / "for it");
  ASSERT_TRUE(database.ok()) << database.status().message();
  SampleMemory memory = sample_memory(1);
  KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, memory);
  ASSERT_TRUE(dynamic.ok()) << dynamic.status().message();

  auto reader = Database::open(directory.path() / "made" / "for it");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*reader->load_kernel(kernel.static_hash), kernel);
  EXPECT_EQ(*reader->load_ir(kernel.static_hash), noise(500, 7));
  auto recorded = reader->load_instance(kernel.static_hash, *dynamic);
  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  EXPECT_EQ(*read_region(*reader, recorded->prologue.regions[0]), memory.before);
  EXPECT_EQ(*read_region(*reader, recorded->epilogue.regions[0]), memory.after);
  EXPECT_TRUE(reader->check_instance(kernel.static_hash, *dynamic).ok());
  EXPECT_TRUE(reader->has_instance(kernel.static_hash, *dynamic));
  auto listing = reader->list();
  ASSERT_EQ(listing->kernels.size(), 1u);
  EXPECT_EQ(listing->kernels[0].instances.size(), 1u);
  EXPECT_TRUE(listing->damaged.empty());
}

TEST(Database, AnnotationsCanBeReplaced) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, sample_memory(1));
  std::vector<Annotation> annotations = {{DevicePtr(0x7a0000000000), Bytes(8), "a", {ElementType::f64, 0.5}}};
  ASSERT_TRUE(database->set_annotations(kernel.static_hash, *dynamic, annotations).ok());
  EXPECT_EQ(database->load_instance(kernel.static_hash, *dynamic)->instance.annotations, annotations);
  ASSERT_TRUE(database->set_annotations(kernel.static_hash, *dynamic, {}).ok());
  EXPECT_TRUE(database->load_instance(kernel.static_hash, *dynamic)->instance.annotations.empty());
  EXPECT_TRUE(database->check_instance(kernel.static_hash, *dynamic).ok());
  EXPECT_EQ(database->set_annotations(kernel.static_hash, Digest{}, {}).to_string(),
            "not_found: the kernel " + kernel.static_hash.hex() + " has no instance " + Digest{}.hex());
}

TEST(Database, TheTimeInTheProgramMayComeLater) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, sample_memory(1));
  EXPECT_FALSE(database->load_instance(kernel.static_hash, *dynamic)->instance.recorded_time.has_value());
  const RecordedTime time{"cupti_activity", 1250.5, 3, 1000, 1100.25};
  ASSERT_TRUE(database->set_recorded_times(kernel.static_hash, {{*dynamic, time}}).ok());
  EXPECT_EQ(database->load_instance(kernel.static_hash, *dynamic)->instance.recorded_time, time);
  EXPECT_TRUE(database->check_instance(kernel.static_hash, *dynamic).ok());
  // One that is not there does not keep the others from theirs.
  const RecordedTime other{"cupti_activity", 7.5, 0, 0, 0};
  EXPECT_EQ(database->set_recorded_times(kernel.static_hash, {{Digest{}, other}, {*dynamic, other}}).code(), Code::not_found);
  EXPECT_EQ(database->load_instance(kernel.static_hash, *dynamic)->instance.recorded_time, other);
}

TEST(Database, HowOftenAShapeRanMayComeLater) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  const Digest one = *publish_sample(*database, kernel, sample_memory(1, 300)),
               two = *publish_sample(*database, kernel, sample_memory(2, 300));
  ASSERT_TRUE(database->set_shape_launches({{kernel.static_hash, {{one, {7, std::nullopt}}, {two, {9, 1.5}}}}}).ok());
  auto other = Database::open(directory.path());
  EXPECT_EQ(other->load_instance(kernel.static_hash, one)->instance.shape_launches, (ShapeLaunches{7, std::nullopt}));
  EXPECT_EQ(other->load_instance(kernel.static_hash, two)->instance.shape_launches, (ShapeLaunches{9, 1.5}));
  EXPECT_EQ(database->set_shape_launches({{kernel.static_hash, {{Digest{}, {1, {}}}}}}).code(), Code::not_found);
}

// A kernel whose file is damaged, and an instance that is not there, leave the others to be changed.
TEST(Database, HowOftenShapesOfSeveralKernelsRanComesTogether) {
  TemporaryDirectory directory;
  std::map<std::string, int> done;
  auto counting = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    return ++done[std::string(operation)], Status();
  });
  auto database = Database::create(directory.path(), *counting);
  Database::LaunchesOfKernels launches;
  for (uint32_t i = 0; i < 6; ++i) {
    const KernelRecord kernel = sample_kernel("kernel " + std::to_string(i % 3));
    const auto dynamic = publish_sample(*database, kernel, sample_memory(i, 300));
    launches[kernel.static_hash][*dynamic] = {i + 1, std::nullopt};
  }
  done.clear();
  ASSERT_TRUE(database->set_shape_launches(launches).ok());
  EXPECT_EQ(done["lock"], 1);
  EXPECT_EQ(done["sync"], 6) << "twice for each list";
  done.clear();
  ASSERT_TRUE(database->set_shape_launches(launches).ok());
  EXPECT_EQ(done["lock"] + done["write"] + done["sync"], 0) << "nothing has changed";
  const auto expect_launches = [&](const Digest& static_hash) {
    for (const auto& [hash, of_shape] : launches.at(static_hash))
      EXPECT_EQ(Database::open(directory.path())->load_instance(static_hash, hash)->instance.shape_launches, of_shape);
  };
  for (const auto& [static_hash, ignored] : launches) expect_launches(static_hash);

  const Digest damaged = launches.begin()->first, other = launches.rbegin()->first;
  std::ofstream(directory.path() / kernel_file_name(damaged), std::ios::trunc) << "{";
  for (auto& [static_hash, of_kernel] : launches)
    for (auto& [hash, of_shape] : of_kernel) of_shape.count += 100;
  EXPECT_EQ(database->set_shape_launches(launches).code(), Code::corrupt);
  expect_launches(other);
}

// Also of several instances at once: each is found again where it was written, and those that are written next.
TEST(Database, TheTimesOfSeveralInstancesComeTogether) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  std::map<Digest, RecordedTime> times;
  for (uint32_t i = 1; i <= 3; ++i)
    times[*publish_sample(*database, kernel, sample_memory(i, 300))] = {"cupti_activity", 1000.0 * i, i, 1000, 1100.25};
  for (int round = 0; round < 2; ++round) {
    for (auto& [hash, time] : times) time.others += 10;
    ASSERT_TRUE(database->set_recorded_times(kernel.static_hash, times).ok());
    auto other = Database::open(directory.path());
    for (const auto& [hash, time] : times) {
      for (const Database* each : {&*database, &*other}) {
        auto instance = each->load_instance(kernel.static_hash, hash);
        ASSERT_TRUE(instance.ok()) << instance.status().message();
        EXPECT_EQ(instance->instance.recorded_time, time);
      }
    }
    EXPECT_EQ(other->load_document(kernel.static_hash)->instances.size(), 3u);
  }
}

TEST(Database, WhatChangesNothingWaitsForNobody) {
  TemporaryDirectory directory;
  const LockPatience short_patience{.notice = std::chrono::seconds(1), .limit = std::chrono::milliseconds(20)};
  auto database = Database::create(directory.path(), FileSystem::posix(), short_patience);
  const KernelRecord kernel = sample_kernel();
  const Digest dynamic = *publish_sample(*database, kernel, sample_memory(1, 300));
  const std::vector<Annotation> annotations = {{DevicePtr(0x7a0000000000), Bytes(8), "a", {ElementType::f64, 0.5}}};
  ASSERT_TRUE(database->set_annotations(kernel.static_hash, dynamic, annotations).ok());
  auto held = FileSystem::posix().lock(directory.path() / ".lock");
  EXPECT_TRUE(database->set_annotations(kernel.static_hash, dynamic, annotations).ok());
  EXPECT_EQ(database->set_annotations(kernel.static_hash, dynamic, {}).code(), Code::timeout);
}

// A kernel that was removed and recorded anew has another list under the same name.
TEST(Database, AListThatTookThePlaceOfAnotherIsReadAnew) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto early = Database::create(directory.path());
  const Digest first = *publish_sample(*early, kernel, sample_memory(1, 300)),
               second = *publish_sample(*early, kernel, sample_memory(2, 300));
  ASSERT_TRUE(*early->has_instance(kernel.static_hash, first));
  ASSERT_TRUE(*early->has_instance(kernel.static_hash, second));
  std::filesystem::remove(directory.path() / kernel_file_name(kernel.static_hash));
  std::filesystem::remove(directory.path() / list_file_name(kernel.static_hash));
  auto other = Database::create(directory.path());
  const Digest third = *publish_sample(*other, kernel, sample_memory(3, 300));
  for (const Digest& gone : {first, second}) {
    auto there = early->has_instance(kernel.static_hash, gone);
    ASSERT_TRUE(there.ok()) << there.status().message();
    EXPECT_FALSE(*there);
  }
  EXPECT_TRUE(*early->has_instance(kernel.static_hash, third));
  ASSERT_TRUE(publish_sample(*early, kernel, sample_memory(2, 300)).ok());
  EXPECT_EQ(Database::open(directory.path())->load_document(kernel.static_hash)->instances.size(), 2u);
}

// It has as many lines, and they are shorter.
TEST(Database, AShorterListThatTookThePlaceOfAnotherIsReadAnew) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto early = Database::create(directory.path());
  const Digest first = *publish_sample(*early, kernel, sample_memory(1, 30'000));
  ASSERT_TRUE(*early->has_instance(kernel.static_hash, first));
  std::filesystem::remove(directory.path() / kernel_file_name(kernel.static_hash));
  std::filesystem::remove(directory.path() / list_file_name(kernel.static_hash));
  auto other = Database::create(directory.path());
  const Digest second = *publish_sample(*other, kernel, sample_memory(2, 300));
  EXPECT_FALSE(*early->has_instance(kernel.static_hash, first));
  EXPECT_TRUE(*early->has_instance(kernel.static_hash, second));
  EXPECT_TRUE(early->load_instance(kernel.static_hash, second).ok());
}

TEST(Database, ContentIsStoredOnce) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  KernelRecord kernel = sample_kernel();
  // Two instances that differ in one page; then the same two in another process's eyes.
  SampleMemory one = sample_memory(1), two = one;
  two.before[kPageSize.count] ^= std::byte{1};
  two.after[kPageSize.count] ^= std::byte{1};
  ASSERT_TRUE(publish_sample(*database, kernel, one).ok());
  Bytes first = *database->disk_size();
  ASSERT_TRUE(publish_sample(*database, kernel, two).ok());
  EXPECT_LT((*database->disk_size() - first).count, 10'000u);  // the noise page alone is 64 KiB

  auto other = Database::create(directory.path());
  auto files = FileSystem::posix().list(directory.path() / "pages");
  ASSERT_TRUE(publish_sample(*other, kernel, one).ok());
  EXPECT_EQ(*FileSystem::posix().list(directory.path() / "pages"), *files);
  EXPECT_EQ(other->load_document(kernel.static_hash)->instances.size(), 2u);
}

TEST(Database, SizesOfAnInstance) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, sample_memory(1));
  auto size = database->instance_size(kernel.static_hash, *dynamic);
  ASSERT_TRUE(size.ok());
  EXPECT_GT(size->pages.count, kPageSize.count);
  EXPECT_LT(size->pages.count, kPageSize.count + 4096);
  EXPECT_GT(size->states.count, 0u);
  EXPECT_EQ(size->total(), size->pages + size->states);
}

TEST(Database, AnInstancesSizeIsThatOfItsFilesAndOfEachPageOnce) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  // Pages 1 and 2 are alike; the last one differs before and after.
  const SampleMemory memory = sample_memory(1);
  auto dynamic = publish_sample(*database, kernel, memory);
  ASSERT_TRUE(dynamic.ok());
  uint64_t states = 0, pages = 0;
  for (Moment moment : {Moment::prologue, Moment::epilogue})
    states += std::filesystem::file_size(directory.path() / state_file_name(moment, kernel.static_hash, *dynamic));
  const ByteSpan before(memory.before), after(memory.after);
  for (ByteSpan page : {before.first(kPageSize.count), before.subspan(kPageSize.count, kPageSize.count),
                        before.subspan(3 * kPageSize.count), after.subspan(3 * kPageSize.count)}) {
    PackedPage packed;
    ByteVector stored(page.size());
    store_page(page, digest_of(page), stored, packed);
    pages += packed.stored;
  }
  auto size = database->instance_size(kernel.static_hash, *dynamic);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->states, Bytes(states));
  EXPECT_EQ(size->pages, Bytes(pages));
  EXPECT_EQ(size->total(), Bytes(states + pages));
}

// Which `mneme record` tells, and --max-bytes limits.
TEST(Database, APublicationHasWrittenWhatTheDatabaseGrewBy) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  for (uint32_t seed : {1, 2, 1}) {
    const Bytes size = *database->disk_size();
    auto publication = *database->begin_publication({});
    const SampleMemory memory = sample_memory(seed);
    Recording recording{kernel, noise(500, 7), sample_instance(kernel), {}, {}, {}};
    Region before = sample_region(memory), after = sample_region(memory);
    ASSERT_TRUE(publication->put(batch_of(memory.before, before)).ok());
    ASSERT_TRUE(publication->put(batch_of(memory.after, after)).ok());
    ASSERT_TRUE(publication->wait().ok());
    recording.prologue.regions = {before};
    recording.epilogue.regions = {after};
    recording.instance.state_bytes = recording.prologue.bytes();
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
    ASSERT_TRUE(publication->commit(recording).ok());
    EXPECT_EQ(publication->written(), *database->disk_size() - size) << seed;
    EXPECT_FALSE(publication->over_limit());
  }
}

// Whoever opened it before knows of what another has published since.
TEST(Database, ContentOfAnotherProcessIsNotStoredAgain) {
  TemporaryDirectory directory;
  auto early = Database::create(directory.path()), other = Database::create(directory.path());
  const SampleMemory one = sample_memory(1);
  SampleMemory two = one;
  two.before[kPageSize.count] ^= std::byte{1};
  two.after[kPageSize.count] ^= std::byte{1};
  ASSERT_TRUE(publish_sample(*early, sample_kernel("first"), sample_memory(9, 100)).ok());
  ASSERT_TRUE(publish_sample(*other, sample_kernel(), one).ok());
  const Bytes before = *early->disk_size();
  // Looking for what others have stored takes a share of the time alone: where it took long, it is not done again at once.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ASSERT_TRUE(publish_sample(*early, sample_kernel(), two).ok());
  EXPECT_LT((*early->disk_size() - before).count, 10'000u) << "the noise page alone is 64 KiB";
}

TEST(Database, ManyThreadsWriteAndRead) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  KernelRecord kernel = sample_kernel();
  auto publication = *database->begin_publication({.threads = 4, .queue = 256_KiB});
  constexpr size_t kBatches = 64, kBatchPages = 8;
  Region region{Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(kBatches * kBatchPages * kPageSize.count), "", {}};
  region.pages.resize(kBatches * kBatchPages);
  ByteVector content = noise(region.size.count, 3);
  for (size_t b = 0; b < kBatches; ++b) {
    PageBatch batch;
    batch.bytes = std::make_unique<std::byte[]>(kBatchPages * kPageSize.count);
    std::memcpy(batch.bytes.get(), content.data() + b * kBatchPages * kPageSize.count, kBatchPages * kPageSize.count);
    for (size_t i = 0; i < kBatchPages; ++i) batch.pages.push_back({kPageSize.count, &region.pages[b * kBatchPages + i]});
    ASSERT_TRUE(publication->put(std::move(batch)).ok());
  }
  ASSERT_TRUE(publication->wait().ok());
  Recording recording{kernel, {}, sample_instance(kernel), {{region}}, {{region}}, {}};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  ASSERT_TRUE(publication->commit(recording).ok());
  EXPECT_EQ(*read_region(*database, region), content);
}

TEST(Database, SeveralWritersOfOneKernel) {
  TemporaryDirectory directory;
  constexpr int kWriters = 4, kEach = 3;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      auto database = Database::create(directory.path());
      for (int i = 0; i < kEach; ++i) {
        auto dynamic = publish_sample(*database, sample_kernel(), sample_memory(static_cast<uint32_t>(10 * w + i), 1000));
        EXPECT_TRUE(dynamic.ok()) << dynamic.status().message();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  auto database = Database::open(directory.path());
  auto document = database->load_document(sample_kernel().static_hash);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->instances.size(), size_t{kWriters * kEach});
  for (const InstanceRecord& instance : document->instances)
    EXPECT_TRUE(database->check_instance(instance.static_hash, instance.dynamic_hash).ok());
}

TEST(Database, AbandonedPublicationLeavesNothing) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  {
    auto publication = *database->begin_publication();
    SampleMemory memory = sample_memory(1);
    Region region = sample_region(memory);
    ASSERT_TRUE(publication->put(batch_of(memory.before, region)).ok());
    ASSERT_TRUE(publication->wait().ok());
  }
  EXPECT_TRUE(FileSystem::posix().list(directory.path() / "pages")->empty());
}

TEST(Database, LimitOfGrowth) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto publication = *database->begin_publication({.limit = 1_KiB});
  SampleMemory memory = sample_memory(1);
  Region region = sample_region(memory);
  ASSERT_TRUE(publication->put(batch_of(memory.before, region)).ok());
  Status status = publication->wait();
  EXPECT_EQ(status.to_string(), "exhausted: page contents of more than 1.00 KiB would be added to the database");
  EXPECT_TRUE(publication->over_limit());
}

TEST(Database, LimitOfGrowthIsOfAllFiles) {
  auto publish = [](const TemporaryDirectory& where, Bytes limit) {
    auto database = Database::create(where.path());
    return publish_sample(*database, sample_kernel(), sample_memory(1), {.limit = limit}).status();
  };
  auto size = [](const TemporaryDirectory& where) { return *(*Database::open(where.path())).disk_size(); };
  TemporaryDirectory open, exact, tight;
  ASSERT_TRUE(publish(open, Bytes(~uint64_t{0})).ok());
  const Bytes whole = size(open), less = whole - Bytes(1);
  EXPECT_TRUE(publish(exact, whole).ok());
  EXPECT_EQ(size(exact), whole);
  EXPECT_EQ(publish(tight, less).to_string(),
            fmt::format("exhausted: the instance would add {} to the database, of which {} are allowed", whole, less));
  EXPECT_EQ(size(tight), Bytes(0));
}

// The pages fit, and not the files of the launch.
TEST(Database, ALaunchThatIsTooLargeByItsFilesIsOverTheLimitToo) {
  const KernelRecord kernel = sample_kernel();
  const SampleMemory memory = sample_memory(1);
  Bytes pages;
  for (const bool limited : {false, true}) {
    TemporaryDirectory directory;
    auto database = Database::create(directory.path());
    auto publication = *database->begin_publication({.limit = limited ? pages + Bytes(100) : 1_GiB});
    Region region = sample_region(memory);
    ASSERT_TRUE(publication->put(batch_of(memory.before, region)).ok());
    ASSERT_TRUE(publication->wait().ok());
    pages = publication->written();
    EXPECT_FALSE(publication->over_limit());
    Recording recording{kernel, noise(500, 7), sample_instance(kernel), {{region}}, {{region}}, {}};
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
    EXPECT_EQ(publication->commit(recording).code(), limited ? Code::exhausted : Code::ok);
    EXPECT_EQ(publication->over_limit(), limited);
  }
}

TEST(Database, LeftOversOfKilledRecordingsAreRemoved) {
  TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "pages");
  // Of a process that is gone, of one whose number another has now, and of one that still writes, in whichever container.
  const Path dead = directory.path() / "pages" / "pack.tmp.1999999999.0",
             reused = directory.path() / fmt::format("x.json.tmp.{}.0", ::getpid()), other = directory.path() / "x.tmp.of-a-user";
  for (const Path& path : {dead, reused, other}) std::ofstream(path) << "half";
  auto alive = FileSystem::posix().create_temporary(directory.path() / "x.json");
  ASSERT_TRUE(alive.ok());
  ASSERT_TRUE(Database::create(directory.path()).ok());
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_FALSE(std::filesystem::exists(reused));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(alive->path));
  EXPECT_TRUE(Database::open(directory.path())->list()->kernels.empty());
  alive->file.reset();  // as when its process ends
  ASSERT_TRUE(Database::create(directory.path()).ok());
  EXPECT_FALSE(std::filesystem::exists(alive->path));
}

// What was written with each instance is the same however many there are.
TEST(Database, AnInstanceCostsTheSameHoweverManyThereAre) {
  TemporaryDirectory directory;
  std::atomic<uint64_t> bytes = 0, opened = 0;
  auto counting = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t size) -> Status {
    if (operation == "append" || operation == "write" || operation == "read") bytes += size;
    ++opened;
    return {};
  });
  auto database = Database::create(directory.path(), *counting);
  const KernelRecord kernel = sample_kernel();
  uint64_t second = 0, second_calls = 0;
  constexpr uint32_t kInstances = 60;
  for (uint32_t i = 0; i < kInstances; ++i) {
    bytes = opened = 0;
    auto dynamic = publish_sample(*database, kernel, sample_memory(i, 300));
    ASSERT_TRUE(dynamic.ok()) << dynamic.status().message();
    ASSERT_TRUE(*database->has_instance(kernel.static_hash, *dynamic));
    ASSERT_TRUE(database->set_annotations(kernel.static_hash, *dynamic, {}).ok());
    if (i == 1) second = bytes, second_calls = opened;
  }
  EXPECT_LT(bytes, second + second / 4);
  EXPECT_LE(opened, second_calls);
  EXPECT_EQ(database->load_document(kernel.static_hash)->instances.size(), kInstances);
}

TEST(Database, InstancesAreListedInTheOrderOfRecording) {
  TemporaryDirectory directory;
  auto one = Database::create(directory.path()), two = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  std::vector<Digest> expected;
  for (uint32_t i = 0; i < 6; ++i) expected.push_back(*publish_sample(i % 2 == 0 ? *one : *two, kernel, sample_memory(i, 300)));
  ASSERT_TRUE(
      one->set_annotations(kernel.static_hash, expected[1], {{DevicePtr(0x7a0000000000), Bytes(8), "a", {ElementType::f64, 0.5}}})
          .ok());
  for (Database* database : {&*one, &*two}) {
    auto document = database->load_document(kernel.static_hash);
    ASSERT_TRUE(document.ok()) << document.status().message();
    ASSERT_EQ(document->instances.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(document->instances[i].dynamic_hash, expected[i]);
      EXPECT_EQ(document->instances[i].annotations.size(), i == 1 ? 1u : 0u);
      EXPECT_TRUE(*database->has_instance(kernel.static_hash, expected[i]));
      EXPECT_EQ(database->load_instance(kernel.static_hash, expected[i])->instance, document->instances[i]);
    }
  }
}

// What a recording that was killed has left behind the end of the list does no harm.
TEST(Database, AnUnfinishedLineIsWrittenOver) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(1, 300)).ok());
  std::ofstream(directory.path() / list_file_name(kernel.static_hash), std::ios::app) << std::string(5000, 'x') << "\nhalf";
  EXPECT_EQ(Database::open(directory.path())->load_document(kernel.static_hash)->instances.size(), 1u);
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(2, 300)).ok());
  EXPECT_EQ(Database::open(directory.path())->load_document(kernel.static_hash)->instances.size(), 2u);
}

TEST(Database, ADatabaseOfAnOlderVersionIsRecordedInto) {
  TemporaryDirectory directory;
  const Path old = directory.path() / "db";
  std::filesystem::copy(Path(MNEME_TEST_CORPORA) / "1.1", old, std::filesystem::copy_options::recursive);
  auto database = Database::create(old);
  const KernelDocument before = database->list()->kernels.at(0);
  ASSERT_TRUE(before.lists_instances);
  EXPECT_TRUE(*database->has_instance(before.kernel.static_hash, before.instances[0].dynamic_hash));
  EXPECT_FALSE(*database->has_instance(before.kernel.static_hash, Digest{}));
  const std::vector<Annotation> annotations = {{DevicePtr(0x7a0000000000), Bytes(8), "new", {ElementType::f64, 0.5}}};
  KernelRecord kernel = before.kernel;
  SampleMemory memory = sample_memory(1, 300);
  auto publication = *database->begin_publication();
  Recording recording{kernel, noise(500, 7), before.instances[0], {}, {}, {}};
  Region region = sample_region(memory);
  ASSERT_TRUE(publication->put(batch_of(memory.before, region)).ok());
  ASSERT_TRUE(publication->wait().ok());
  recording.prologue.regions = recording.epilogue.regions = {region};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  ASSERT_TRUE(publication->commit(recording).ok());
  ASSERT_TRUE(database->set_annotations(kernel.static_hash, before.instances[0].dynamic_hash, annotations).ok());

  auto after = Database::open(old)->load_document(kernel.static_hash);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_FALSE(after->lists_instances);
  EXPECT_EQ(after->ir_digest, before.ir_digest);
  ASSERT_EQ(after->instances.size(), 2u);
  EXPECT_EQ(after->instances[0].dynamic_hash, before.instances[0].dynamic_hash);
  EXPECT_EQ(after->instances[0].annotations, annotations);
  for (const InstanceRecord& instance : after->instances)
    EXPECT_TRUE(database->check_instance(kernel.static_hash, instance.dynamic_hash).ok());
}

// The first change of an instance is what makes the list of such a database: its kernel's file then lists none any more.
TEST(Database, AnInstanceOfADatabaseOfAnOlderVersionIsChanged) {
  TemporaryDirectory directory;
  const Path old = directory.path() / "db";
  std::filesystem::copy(Path(MNEME_TEST_CORPORA) / "1.1", old, std::filesystem::copy_options::recursive);
  auto database = Database::create(old);
  const KernelDocument before = database->list()->kernels.at(0);
  ASSERT_TRUE(before.lists_instances);
  const Digest& static_hash = before.kernel.static_hash;
  const Digest& dynamic_hash = before.instances.at(0).dynamic_hash;
  const std::vector<Annotation> annotations = {{DevicePtr(0x7a0000000200), Bytes(8), "new", {ElementType::f64, 0.5}}};
  const RecordedTime time{"cuda_event", 2000.0, 3, 900, 1000};
  ASSERT_TRUE(database->set_annotations(static_hash, dynamic_hash, annotations).ok());
  auto annotated = Database::open(old)->load_document(static_hash);
  ASSERT_TRUE(annotated.ok()) << annotated.status().message();
  EXPECT_FALSE(annotated->lists_instances);
  ASSERT_EQ(annotated->instances.size(), 1u);
  EXPECT_EQ(annotated->instances[0].annotations, annotations);
  ASSERT_TRUE(database->set_recorded_times(static_hash, {{dynamic_hash, time}}).ok());

  InstanceRecord expected = before.instances[0];
  expected.annotations = annotations;
  expected.recorded_time = time;
  auto after = Database::open(old)->load_document(static_hash);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->instances, std::vector{expected}) << "all else is as it was";
  EXPECT_TRUE(Database::open(old)->check_instance(static_hash, dynamic_hash).ok());
}

TEST(Database, WhatADatabaseOfAnOlderVersionDoesNotHaveIsNotChanged) {
  TemporaryDirectory directory;
  const Path old = directory.path() / "db";
  std::filesystem::copy(Path(MNEME_TEST_CORPORA) / "1.1", old, std::filesystem::copy_options::recursive);
  auto database = Database::create(old);
  const KernelDocument before = database->list()->kernels.at(0);
  const Digest& static_hash = before.kernel.static_hash;
  const Digest& dynamic_hash = before.instances.at(0).dynamic_hash;
  const std::string missing = "not_found: the kernel " + static_hash.hex() + " has no instance " + Digest{}.hex();
  EXPECT_EQ(database->set_annotations(static_hash, Digest{}, {}).to_string(), missing);
  EXPECT_TRUE(Database::open(old)->load_document(static_hash)->lists_instances) << "nothing is written for nothing";
  const RecordedTime time{"cuda_event", 7.5, 1, 7.5, 7.5};
  EXPECT_EQ(database->set_recorded_times(static_hash, {{Digest{}, time}, {dynamic_hash, time}}).to_string(), missing);
  EXPECT_EQ(Database::open(old)->load_document(static_hash)->instances.at(0).recorded_time, time);
}

TEST(Database, WaitingForTheLockEnds) {
  TemporaryDirectory directory;
  const LockPatience short_patience{.notice = std::chrono::seconds(1), .limit = std::chrono::milliseconds(20)};
  auto database = Database::create(directory.path(), FileSystem::posix(), short_patience);
  ASSERT_TRUE(database.ok());
  auto held = FileSystem::posix().lock(directory.path() / ".lock");
  for (const Status& status : {Database::create(directory.path(), FileSystem::posix(), short_patience).status(),
                               publish_sample(*database, sample_kernel(), sample_memory(1, 300)).status()}) {
    EXPECT_EQ(status.code(), Code::timeout);
    EXPECT_EQ(status.message().find(" has held it for 5."), std::string::npos) << status.message() << ": its own patience";
  }
  EXPECT_TRUE(Database::open(directory.path())->list()->kernels.empty());
  held->reset();
  EXPECT_TRUE(publish_sample(*database, sample_kernel(), sample_memory(1, 300)).ok());
}

TEST(Database, SaysWhatIsMissing) {
  TemporaryDirectory directory;
  const std::string path = directory.path().string();
  EXPECT_EQ(Database::open(directory.path() / "none").status().to_string(),
            "not_found: there is no directory " + path + "/none: give the one that `mneme record -rdb` wrote");
  EXPECT_EQ(Database::open(directory.path()).status().to_string(),
            "not_found: " + path + " holds no recording (no <static-hash>.json)");
  auto database = Database::create(directory.path());
  Digest unknown;
  EXPECT_EQ(database->load_kernel(unknown).status().to_string(),
            "not_found: the database " + path + " holds no kernel 00000000000000000000000000000000");
  KernelRecord kernel = sample_kernel();
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(1)).ok());
  EXPECT_EQ(database->load_instance(kernel.static_hash, unknown).status().message(),
            fmt::format("kernel {} has no instance 00000000000000000000000000000000 (`mneme show {}/{}.json` lists its 1)",
                        kernel.static_hash.hex(), path, kernel.static_hash.hex()));
  std::ofstream(directory.path() / "file") << "x";
  EXPECT_EQ(Database::create(directory.path() / "file").status().to_string(),
            "invalid_argument: the database " + path +
                "/file cannot be written: it is a file; name a directory, or one that is to be made");
  EXPECT_EQ(Database::open(directory.path() / "file").status().to_string(),
            "invalid_argument: " + path + "/file is a file: a database is a directory, as `mneme record -rdb` wrote it");
  const std::string listed = path + "/" + kernel_file_name(kernel.static_hash);
  EXPECT_EQ(Database::open(listed).status().to_string(),
            "invalid_argument: " + listed + " is one kernel of a database: `mneme show " + listed + "` shows it");
  EXPECT_EQ(Database::open("").status().to_string(),
            "invalid_argument: the database has no name: give the directory of a recording");
  EXPECT_EQ(Database::create("").status().to_string(),
            "invalid_argument: the database has no name: give a directory, or one that is to be made");
  EXPECT_EQ(locate_kernel("").status().to_string(),
            "invalid_argument: the recorded kernel has no name: give DIR/<static-hash>.json");
}

TEST(Database, OneThatWasMadeAndHoldsNothingYetIsOne) {
  TemporaryDirectory directory;
  ASSERT_TRUE(Database::create(directory.path()).ok());
  auto database = Database::open(directory.path());
  ASSERT_TRUE(database.ok()) << database.status().to_string();
  EXPECT_TRUE(database->list()->kernels.empty());
  EXPECT_EQ(*database->disk_size(), Bytes(0));
}

TEST(Database, AFolderOfPagesThatIsGoneIsMadeAgain) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  std::filesystem::remove(directory.path() / "pages");
  const KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, sample_memory(1, 300));
  ASSERT_TRUE(dynamic.ok()) << dynamic.status().to_string();
  EXPECT_TRUE(database->check_instance(kernel.static_hash, *dynamic).ok());
}

// Another recording that begins removes left-overs.
TEST(Database, WhatIsBeingPublishedIsNotLeftOver) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "pages");
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    const std::vector<std::string> names = *FileSystem::posix().list(directory.path() / "pages");
    if (operation == "rename")
      for (const std::string& name : names)
        if (name.find(".tmp.") != std::string::npos)
          EXPECT_TRUE(FileSystem::posix().remove_unused(directory.path() / "pages" / name).ok());
    return Status();
  });
  auto database = Database::create(directory.path(), *files);
  const KernelRecord kernel = sample_kernel();
  auto dynamic = publish_sample(*database, kernel, sample_memory(1, 300));
  EXPECT_TRUE(dynamic.ok()) << dynamic.status().to_string();
}

// As somebody makes it who copies files around.
TEST(Database, AFileThatIsNotNamedAsAKernelsIsNone) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const KernelRecord kernel = sample_kernel();
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(1, 300)).ok());
  std::string upper = kernel.static_hash.hex();
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  ASSERT_NE(upper, kernel.static_hash.hex());
  for (const std::string& name : {upper + ".json", "copy of " + kernel_file_name(kernel.static_hash)})
    std::filesystem::copy_file(directory.path() / kernel_file_name(kernel.static_hash), directory.path() / name);
  const Listing listing = *database->list();
  EXPECT_EQ(listing.kernels.size(), 1u);
  EXPECT_TRUE(listing.damaged.empty());
}

// It is opened before a line comes, and says afterwards that there is one.
TEST(Database, AListThatGrowsWhileItIsReadIsReadAgain) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto writer = Database::create(directory.path());
  ASSERT_TRUE(publish_sample(*writer, kernel, sample_memory(1, 300)).ok());
  const Path list = directory.path() / list_file_name(kernel.static_hash);
  int reads = 0;
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    if (operation == "read" && path == list && ++reads == 1)
      EXPECT_TRUE(publish_sample(*writer, kernel, sample_memory(2, 300)).ok());
    return Status();
  });
  auto reader = Database::open(directory.path(), *files);
  auto document = reader->load_document(kernel.static_hash);
  ASSERT_TRUE(document.ok()) << document.status().to_string();
  EXPECT_EQ(document->instances.size(), 2u);
}

TEST(Database, WhatIsDamagedOfTheKernelsOwnFilesIsTold) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto database = Database::create(directory.path());
  const Digest dynamic = *publish_sample(*database, kernel, sample_memory(1, 300));
  EXPECT_TRUE(database->check_own_files(kernel.static_hash, dynamic).ok());
  EXPECT_TRUE(database->check_own_files(kernel.static_hash, Digest{}).ok()) << "what is not there is not damaged";
  EXPECT_TRUE(database->check_own_files(Digest{}, dynamic).ok());
  for (const std::string& name :
       {kernel_file_name(kernel.static_hash), list_file_name(kernel.static_hash), ir_file_name(kernel.static_hash),
        state_file_name(Moment::prologue, kernel.static_hash, dynamic),
        state_file_name(Moment::epilogue, kernel.static_hash, dynamic)}) {
    const Path file = directory.path() / name, aside = directory.path() / "aside";
    std::filesystem::rename(file, aside);
    std::filesystem::create_directory(file);
    EXPECT_THAT(database->check_own_files(kernel.static_hash, dynamic).to_string(), testing::HasSubstr(file.string())) << name;
    std::filesystem::remove(file);
    std::filesystem::rename(aside, file);
  }
}

// The page that begins at this byte, whose digest has the same place.
PageBatch page_at(const ByteVector& bytes, int place, std::vector<Digest>& digests) {
  PageBatch batch{std::make_unique<std::byte[]>(kPageSize.count), {{kPageSize.count, &digests[static_cast<size_t>(place)]}}};
  std::memcpy(batch.bytes.get(), bytes.data() + place, kPageSize.count);
  return batch;
}

// Or a program that is faster than its disk would fill the memory.
TEST(Database, NoMoreThanTheQueueWaitsToBeWritten) {
  TemporaryDirectory directory;
  std::atomic<int> written = 0;
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t size) {
    if (operation == "append" && size > kPageSize.count / 2) ++written;
    return Status();
  });
  auto database = Database::create(directory.path(), *files);
  constexpr int kQueued = 4, kBatches = 100;
  auto publication = *database->begin_publication({.threads = 2, .queue = Bytes(kQueued * kPageSize.count)});
  std::vector<Digest> digests(kBatches);
  const ByteVector some = noise(kPageSize.count + kBatches, 5);
  for (int i = 0; i < kBatches; ++i) {
    ASSERT_TRUE(publication->put(page_at(some, i, digests)).ok());
    ASSERT_LE(i + 1 - written, kQueued);
  }
  EXPECT_TRUE(publication->wait().ok());
}

// One thread is in a write, which goes on, or fails, when others have brought it what they have compressed, and have gone on.
TEST(Database, WhoCompressesDoesNotWaitForTheFile) {
  for (const bool fails : {false, true}) {
    TemporaryDirectory directory;
    std::promise<void> others_went_on;
    std::atomic<bool> is_first = true, went_on = false;
    auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t size) -> Status {
      if (operation != "append" || size < kPageSize.count / 2 || !is_first.exchange(false)) return {};
      went_on = others_went_on.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
      return fails ? error(Code::exhausted, "the disk is full") : Status();
    });
    auto database = Database::create(directory.path(), *files);
    auto writers = std::make_shared<WriterThreads>(2);
    constexpr int kBatches = 8;
    auto publication = *database->begin_publication({.writers = writers});
    std::vector<Digest> digests(kBatches);
    const ByteVector some = noise(kPageSize.count + kBatches, 5);
    for (int i = 0; i < kBatches; ++i) {
      ASSERT_TRUE(publication->put(page_at(some, i, digests)).ok());
    }
    writers->add(WriterThreads::Order::later, nullptr, [&] { others_went_on.set_value(); });
    const Status settled = publication->settle();
    EXPECT_TRUE(went_on);
    EXPECT_EQ(settled.message(), fails ? "the disk is full" : "");
    if (!fails) EXPECT_EQ(publication->written(), Bytes(kBatches * kPageSize.count));
  }
}

TEST(LocateKernel, TakesTheNameOfAKernelsFile) {
  TemporaryDirectory directory;
  const std::string path = directory.path().string(), name = kernel_file_name(sample_kernel().static_hash);
  std::ofstream(directory.path() / name) << "{}";
  auto file = locate_kernel(directory.path() / name);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->directory, directory.path());
  EXPECT_EQ(file->static_hash, sample_kernel().static_hash);
  EXPECT_EQ(locate_kernel(directory.path()).status().to_string(), "invalid_argument: " + path +
                                                                      " is a directory: name one of the kernels in it, " + path +
                                                                      "/<static-hash>.json (`mneme ls " + path + "` lists them)");
  EXPECT_EQ(locate_kernel(directory.path() / "x.json").status().to_string(),
            "invalid_argument: " + path +
                "/x.json is not named like a recorded kernel, DIR/<static-hash>.json (32 hexadecimal digits)");
  EXPECT_EQ(locate_kernel(directory.path() / (std::string(32, '0') + ".json")).status().to_string(),
            "not_found: there is no recorded kernel " + path + "/00000000000000000000000000000000.json");
}

}  // namespace
}  // namespace mneme
