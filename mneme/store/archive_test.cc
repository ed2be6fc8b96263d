// Recordings in one file: written, read, damaged, and read into databases that have some of them.
#include "mneme/store/archive.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "mneme/store/import.h"
#include "mneme/store/testing/bytes.h"
#include "mneme/store/testing/made_recording.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using Outcome = ImportedInstance::Outcome;

ByteVector archive_of(const Database& database, const std::vector<KernelDocument>& kernels) {
  BytesWritten out;
  const Status status = write_archive(database, kernels, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return std::move(out.bytes);
}

ByteVector archive_of(const Path& directory) {
  auto database = Database::open(directory);
  return archive_of(*database, database->list()->kernels);
}

struct Imported {
  Status status;
  std::vector<ImportedInstance> told;
  size_t count(Outcome outcome) const {
    return static_cast<size_t>(
        std::count_if(told.begin(), told.end(), [&](const ImportedInstance& each) { return each.outcome == outcome; }));
  }
};

Imported import_bytes(ByteSpan bytes, const Path& directory, FileSystem& files = FileSystem::posix()) {
  Imported result;
  auto database = Database::create(directory, files);
  if (!database.ok()) return {database.status(), {}};
  BytesToRead source(bytes);
  DatabaseImport into(*database, [&](const ImportedInstance& instance) { result.told.push_back(instance); });
  result.status = read_archive(source, "x.mneme", into);
  return result;
}

// Everything that a database says of its recordings.
struct Content {
  std::vector<KernelDocument> kernels;
  std::vector<MemoryState> states;
  friend bool operator==(const Content&, const Content&) = default;
};

Content content_of(const Path& directory) {
  auto database = Database::open(directory);
  Content content;
  if (!database.ok()) return content;
  auto listing = database->list();
  EXPECT_TRUE(listing.ok() && listing->damaged.empty());
  content.kernels = std::move(listing->kernels);
  for (const KernelDocument& kernel : content.kernels)
    for (const InstanceRecord& instance : kernel.instances) {
      const Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(whole.ok()) << whole.message();
      auto recorded = database->load_memory(instance);
      if (!recorded.ok()) continue;
      content.states.push_back(recorded->prologue);
      content.states.push_back(recorded->epilogue);
    }
  return content;
}

testing_store::MadeRecording without_ir(const std::string& name, const ByteVector& code) {
  testing_store::MadeRecording made;
  made.kernel = sample_kernel(name);
  made.kernel.level = CodeLevel::cubin;
  made.ir = name;
  made.images = {{CodeImageRecord::Kind::cubin, code}};
  made.grid = made.block = {1, 1, 1};
  return made;
}

class Archive : public testing::Test {
 protected:
  // Two kernels with three instances, of which two share their pages.
  void fill(const Path& directory) {
    auto database = Database::create(directory);
    KernelRecord first = sample_kernel("first"), second = sample_kernel("second");
    ASSERT_TRUE(publish_sample(*database, first, sample_memory(1)).ok());
    auto dynamic = publish_sample(*database, first, sample_memory(2));
    ASSERT_TRUE(dynamic.ok());
    ASSERT_TRUE(publish_sample(*database, second, sample_memory(1)).ok());
    ASSERT_TRUE(database
                    ->set_annotations(first.static_hash, *dynamic,
                                      {{DevicePtr(0x7a0000000000), Bytes(8), "out", *parse_tolerance("f32, 1e-05, relative")}})
                    .ok());
  }

  Path path(const std::string& name) const { return directory_.path() / name; }

  TemporaryDirectory directory_;
};

TEST_F(Archive, HoldsWhatTheDatabaseHolds) {
  fill(path("db"));
  const ByteVector bytes = archive_of(path("db"));
  const Imported imported = import_bytes(bytes, path("new"));
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.count(Outcome::imported), 3u);
  EXPECT_EQ(content_of(path("new")), content_of(path("db")));
  EXPECT_EQ(archive_of(path("new")), bytes) << "equal content makes equal bytes";
}

TEST_F(Archive, HoldsEachPageOnce) {
  fill(path("db"));
  auto database = Database::open(path("db"));
  const auto listing = database->list();
  size_t apart = 0;
  for (const KernelDocument& kernel : listing->kernels) apart += archive_of(*database, {kernel}).size();
  EXPECT_LT(archive_of(path("db")).size(), apart - kPageSize.count);
}

TEST_F(Archive, HoldsWhatIsChosen) {
  fill(path("db"));
  auto database = Database::open(path("db"));
  KernelDocument chosen = database->list()->kernels[0];
  chosen.instances.resize(1);
  const Imported imported = import_bytes(archive_of(*database, {chosen}), path("new"));
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  const Content content = content_of(path("new"));
  ASSERT_EQ(content.kernels.size(), 1u);
  EXPECT_EQ(content.kernels[0].instances, chosen.instances);
}

TEST_F(Archive, AnyTarTakesItApartIntoADatabase) {
  fill(path("db"));
  const ByteVector bytes = archive_of(path("db"));
  std::ofstream(path("x.tar"), std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  std::filesystem::create_directory(path("new"));
  ASSERT_EQ(std::system(("tar xf " + path("x.tar").string() + " -C " + path("new").string()).c_str()), 0);
  EXPECT_EQ(content_of(path("new")), content_of(path("db")));
}

TEST_F(Archive, ImagesComeOnceForAllKernels) {
  testing_store::MadeDatabase maker;
  const ByteVector code = noise(3000, 5);
  for (const char* name : {"one", "two"}) ASSERT_TRUE(maker.publish(without_ir(name, code)).ok());
  const ByteVector bytes = archive_of(maker.directory());
  EXPECT_LT(bytes.size(), 2 * code.size() + 12000);
  ASSERT_TRUE(import_bytes(bytes, path("new")).status.ok());
  EXPECT_EQ(content_of(path("new")), content_of(maker.directory()));
}

TEST_F(Archive, DatabasesOfEveryVersionCanBeSent) {
  for (const auto& folder : std::filesystem::directory_iterator(MNEME_TEST_CORPORA)) {
    if (!folder.is_directory()) continue;
    SCOPED_TRACE(folder.path().string());
    const Imported imported = import_bytes(archive_of(folder.path()), path(folder.path().filename().string()));
    ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
    const Content before = content_of(folder.path()), after = content_of(path(folder.path().filename().string()));
    EXPECT_EQ(after.states, before.states);
    ASSERT_EQ(after.kernels.size(), before.kernels.size());
    for (size_t i = 0; i < after.kernels.size(); ++i) {
      EXPECT_EQ(after.kernels[i].kernel, before.kernels[i].kernel);
      EXPECT_EQ(after.kernels[i].instances, before.kernels[i].instances);
    }
  }
}

// One that was written when archives began.
TEST_F(Archive, OneOfEveryVersionCanBeRead) {
  const ByteVector bytes = *FileSystem::posix().read(Path(MNEME_TEST_CORPORA) / "archive-2.3.mneme");
  const Imported imported = import_bytes(bytes, path("new"));
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(content_of(path("new")), content_of(Path(MNEME_TEST_CORPORA) / "2.3"));
}

TEST_F(Archive, WhatIsThereIsSaidAndNotImportedTwice) {
  fill(path("db"));
  const ByteVector bytes = archive_of(path("db"));
  ASSERT_TRUE(import_bytes(bytes, path("new")).status.ok());
  const Bytes before = *Database::open(path("new"))->disk_size();
  const Imported again = import_bytes(bytes, path("new"));
  ASSERT_TRUE(again.status.ok()) << again.status.to_string();
  EXPECT_EQ(again.count(Outcome::there_already), 3u);
  EXPECT_EQ(again.told.size(), 3u);
  EXPECT_EQ(*Database::open(path("new"))->disk_size(), before);
}

TEST_F(Archive, WhatDiffersIsRefusedByNameAndTheOthersAreImported) {
  fill(path("db"));
  {
    auto database = Database::create(path("new"));
    SampleMemory memory = sample_memory(1);
    memory.after[0] ^= std::byte{1};
    ASSERT_TRUE(publish_sample(*database, sample_kernel("first"), memory).ok());
  }
  const Content before = content_of(path("new"));
  const Imported imported = import_bytes(archive_of(path("db")), path("new"));
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.count(Outcome::imported), 2u);
  const auto refused = std::find_if(imported.told.begin(), imported.told.end(),
                                    [](const ImportedInstance& each) { return each.outcome == Outcome::refused; });
  ASSERT_NE(refused, imported.told.end());
  EXPECT_EQ(refused->kernel, "first()");
  EXPECT_EQ(refused->dynamic_hash, before.kernels[0].instances[0].dynamic_hash);
  EXPECT_EQ(refused->difference, "the memory after the launch");
  EXPECT_EQ(
      refusal(*refused, "new").to_string(),
      fmt::format("incompatible: instance {} of first() is not taken: the database new has it already, and they differ in the "
                  "memory after the launch",
                  refused->dynamic_hash.hex()));
  auto after = Database::open(path("new"))->load_document(sample_kernel("first").static_hash);
  EXPECT_EQ(after->instances[0], before.kernels[0].instances[0]);
  EXPECT_EQ(after->instances.size(), 2u);
  content_of(path("new"));  // all of it is whole, though its pages came with the one that was refused
}

TEST_F(Archive, AnnotationsAndLaunchesAreCompared) {
  RecordedInstance a{sample_instance(sample_kernel()), {}, {}}, b = a;
  b.instance.recorded_at = "2027-01-01T00:00:00Z";
  b.instance.device_name = "another";
  b.instance.shape_launches = ShapeLaunches{};
  EXPECT_EQ(difference_between(a, b), "");
  b.instance.annotations = {{DevicePtr(8), Bytes(4), "x", *parse_tolerance("f32, 1e-05, relative")}};
  EXPECT_EQ(difference_between(a, b), "the annotations");
  b.instance.parameters = {std::byte{1}};
  EXPECT_EQ(difference_between(a, b), "the launch");
}

// No byte can be changed without an error that says where.
TEST_F(Archive, EachByteFlippedIsRefused) {
  {
    auto database = Database::create(path("db"));
    KernelRecord kernel = sample_kernel();
    ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(1, 100)).ok());
  }
  ByteVector bytes = archive_of(path("db"));
  const Content content = content_of(path("db"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte flip : {std::byte{0xff}, std::byte{1}}) {
      bytes[i] ^= flip;
      const Imported imported = import_bytes(bytes, path("new"));
      EXPECT_FALSE(imported.status.ok()) << "byte " << i;
      EXPECT_THAT(imported.status.message(), testing::StartsWith("x.mneme: ")) << "byte " << i;
      if (imported.count(Outcome::imported) != 0) {
        EXPECT_EQ(content_of(path("new")), content) << "byte " << i;
        std::filesystem::remove_all(path("new"));
      }
      bytes[i] ^= flip;
    }
  }
}

TEST_F(Archive, CutShortAnywhereItIsRefused) {
  fill(path("db"));
  const ByteVector bytes = archive_of(path("db"));
  for (size_t size = 0; size < bytes.size(); size += 509) {
    const Imported imported = import_bytes(ByteSpan(bytes).first(size), path("new"));
    EXPECT_EQ(imported.status.code(), Code::corrupt) << size;
    EXPECT_THAT(imported.status.message(), HasSubstr("the archive ends there: it was cut short")) << size;
    content_of(path("new"));
  }
  ByteVector longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THAT(import_bytes(longer, path("new")).status.message(), HasSubstr("something follows the archive's end"));
}

// Archives that were made to do harm.
class HostileArchive : public Archive {
 protected:
  std::string refusal(const std::function<void(TarWriter&)>& write, const std::function<void(ByteVector&)>& change = {}) {
    BytesWritten out;
    TarWriter tar(out);
    write(tar);
    EXPECT_TRUE(tar.finish().ok());
    if (change) change(out.bytes);
    const Imported imported = import_bytes(out.bytes, path("new"));
    EXPECT_FALSE(imported.status.ok());
    return imported.status.message();
  }
  static void put_header(TarWriter& tar, ArchiveHeader header = {1, 1}) {
    const std::string text = encode_archive_header(header);
    EXPECT_TRUE(tar.add(kArchiveHeaderName, std::as_bytes(std::span(text))).ok());
  }
};

TEST_F(HostileArchive, NamesThatPointOutside) {
  for (const std::string name : {"/etc/passwd", "../../evil", "pages/../../evil", "a/../b.json",
                                 "../0123456789abcdef0123456789abcdef.json", "", "Archive.mneme"})
    EXPECT_EQ(refusal([&](TarWriter& tar) {
                put_header(tar);
                EXPECT_TRUE(tar.add(name, {}).ok());
              }),
              fmt::format("x.mneme: offset 1024: '{}' stands where a kernel is expected", name));
  EXPECT_FALSE(std::filesystem::exists(path("evil")));
}

TEST_F(HostileArchive, LinksFoldersAndDevices) {
  for (const auto& [kind, what] : std::map<char, std::string>{
           {'1', "a hard link"}, {'2', "a symbolic link"}, {'4', "a device"}, {'5', "a folder"}, {'6', "a FIFO"}})
    EXPECT_EQ(refusal([](TarWriter& tar) { put_header(tar); },
                      [&, kind = kind](ByteVector& bytes) { bytes[156] = static_cast<std::byte>(kind); }),
              fmt::format("x.mneme: offset 0: 'Archive.mneme' is {}: an archive of recordings has regular files alone", what));
}

TEST_F(HostileArchive, ANewerVersion) {
  EXPECT_THAT(refusal([](TarWriter& tar) { put_header(tar, {1, 1, {9, 1}}); }),
              testing::StartsWith("x.mneme: Archive.mneme: format version 9.1, this Mneme reads versions 1.x to "));
}

TEST_F(HostileArchive, WhatIsNoArchive) {
  EXPECT_EQ(import_bytes(noise(5000, 3), path("new")).status.message(),
            "x.mneme: offset 0: this is no archive of recordings, or it was damaged");
  EXPECT_EQ(import_bytes({}, path("new")).status.message(), "x.mneme: offset 0: the archive ends there: it was cut short");
}

TEST_F(HostileArchive, MoreOrLessThanItSays) {
  EXPECT_EQ(refusal([](TarWriter& tar) { put_header(tar); }),
            "x.mneme: 0 kernels and 0 instances, 1 and 1 expected: it was changed");
}

TEST_F(HostileArchive, AStateWhosePagesItDoesNotHold) {
  fill(path("db"));
  // The packs are left out, though the database that is imported into has the pages.
  ByteVector bytes = archive_of(path("db"));
  BytesToRead source(bytes);
  TarReader reader(source, "db");
  BytesWritten out;
  TarWriter tar(out);
  for (auto entry = reader.next(); *entry; entry = reader.next())
    if (!(*entry)->name.starts_with("pages/")) ASSERT_TRUE(tar.add((*entry)->name, (*entry)->content).ok());
  ASSERT_TRUE(tar.finish().ok());
  const Imported imported = import_bytes(out.bytes, path("db"));
  EXPECT_EQ(imported.status.code(), Code::corrupt);
  EXPECT_THAT(imported.status.message(), HasSubstr("the archive does not hold page "));
}

// The disk is full, or the process is killed, at every operation: what is listed is whole, and importing again goes on.
TEST_F(Archive, ImportingIsStoppedAtEveryOperationAndGoesOn) {
  {
    auto database = Database::create(path("db"));
    for (const uint32_t seed : {1, 2}) ASSERT_TRUE(publish_sample(*database, sample_kernel(), sample_memory(seed, 100)).ok());
  }
  const ByteVector bytes = archive_of(path("db"));
  const Content content = content_of(path("db"));
  bool done = false;
  for (int allowed = 0; !done; ++allowed) {
    ASSERT_LT(allowed, 300);
    const auto files = full_after(allowed);
    const Path into = path("new");
    const Imported first = import_bytes(bytes, into, *files);
    done = first.status.ok();
    if (!done) EXPECT_EQ(first.status.code(), Code::exhausted) << first.status.to_string();
    content_of(into);  // whole
    const Imported second = import_bytes(bytes, into);
    EXPECT_TRUE(second.status.ok()) << second.status.to_string();
    EXPECT_GE(second.count(Outcome::there_already), first.count(Outcome::imported));
    EXPECT_EQ(content_of(into), content);
    std::filesystem::remove_all(into);
  }
}

TEST_F(Archive, IRThatCameLaterIsAdded) {
  testing_store::MadeDatabase maker;
  auto instance = maker.publish(without_ir("one", noise(300, 5)));
  ASSERT_TRUE(instance.ok());
  ASSERT_TRUE(import_bytes(archive_of(maker.directory()), path("new")).status.ok());
  auto database = Database::create(maker.directory());
  KernelRecord kernel = *database->load_kernel(instance->static_hash);
  kernel.level = CodeLevel::ir;
  ASSERT_TRUE(database->add_ir(kernel, noise(200, 1)).ok());
  const Imported imported = import_bytes(archive_of(maker.directory()), path("new"));
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(imported.count(Outcome::there_already), 1u);
  EXPECT_EQ(*Database::open(path("new"))->load_ir(instance->static_hash), noise(200, 1));
}

}  // namespace
}  // namespace mneme
