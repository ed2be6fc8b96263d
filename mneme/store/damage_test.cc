// Every file of a database, damaged in every way: reading must say which file, and where.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <functional>

#include "mneme/store/pack.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string contents(const Path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace(const Path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    auto database = Database::create(directory_.path());
    kernel_ = sample_kernel();
    dynamic_ = *publish_sample(*database, kernel_, sample_memory(1, kPageSize.count + 3000));
    pack_ = directory_.path() / "pages" / FileSystem::posix().list(directory_.path() / "pages")->front();
  }

  Path path(const std::string& name) const { return directory_.path() / name; }
  Path json() const { return path(kernel_file_name(kernel_.static_hash)); }
  Path list() const { return path(list_file_name(kernel_.static_hash)); }
  Path ir() const { return path(ir_file_name(kernel_.static_hash)); }
  Path state(Moment moment) const { return path(state_file_name(moment, kernel_.static_hash, dynamic_)); }

  // What reading everything of the instance says.
  Status check() const {
    auto database = Database::open(directory_.path());
    return database.ok() ? database->check_instance(kernel_.static_hash, dynamic_) : database.status();
  }

  // The file cut at, and with a flipped bit in, every `step`-th byte and each of the first and last hundred.
  void damage_everywhere(const Path& file, size_t step) {
    const std::string whole = contents(file);
    for (size_t at = 0; at < whole.size(); at += at < 100 || at + 100 > whole.size() ? 1 : step) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << (at % 8));
      for (const std::string& damaged : {whole.substr(0, at), flipped}) {
        replace(file, damaged);
        Status status = check();
        bool harmless = file == json() && status.ok() && same_document(damaged, whole);
        EXPECT_TRUE(!status.ok() || harmless) << file << " byte " << at;
        if (!status.ok()) EXPECT_THAT(status.message(), HasSubstr(file.string()));
        if (!status.ok())
          EXPECT_TRUE(status.code() == Code::corrupt || status.code() == Code::incompatible) << status.to_string();
      }
    }
    replace(file, whole);
    EXPECT_TRUE(check().ok());
  }

  // JSON whose white space alone differs.
  static bool same_document(const std::string& a, const std::string& b) {
    auto first = decode_kernel(a, "a"), second = decode_kernel(b, "b");
    return first.ok() && second.ok() && *first == *second;
  }

  TemporaryDirectory directory_;
  KernelRecord kernel_;
  Digest dynamic_;
  Path pack_;
};

TEST_F(Damage, KernelFile) { damage_everywhere(json(), 13); }
TEST_F(Damage, ListOfInstances) { damage_everywhere(list(), 7); }
TEST_F(Damage, RecordedIr) { damage_everywhere(ir(), 7); }
TEST_F(Damage, Prologue) { damage_everywhere(state(Moment::prologue), 3); }
TEST_F(Damage, Epilogue) { damage_everywhere(state(Moment::epilogue), 3); }
TEST_F(Damage, Pack) { damage_everywhere(pack_, 997); }

TEST_F(Damage, ExactWordsForEachKind) {
  for (const Path& file : {json(), list(), state(Moment::prologue), pack_}) {
    const std::string whole = contents(file);
    replace(file, "");
    EXPECT_EQ(check().to_string(), "corrupt: " + file.string() + ": offset 0: the file is empty");
    replace(file, whole);
  }
  const std::string bitcode = contents(ir());
  replace(ir(), "");
  EXPECT_EQ(check().to_string(), "corrupt: " + ir().string() + ": offset 0: the file has 0 bytes, 500 expected");
  replace(ir(), bitcode);

  const std::string pack = contents(pack_);
  replace(pack_, pack.substr(0, pack.size() / 2));
  EXPECT_EQ(check().to_string(),
            fmt::format("corrupt: {}: offset {}: the end of the pack is missing: the file was truncated or damaged",
                        pack_.string(), pack.size() / 2 - 8));
  std::string flipped = pack;
  flipped[1000] ^= 1;
  replace(pack_, flipped);
  EXPECT_THAT(check().to_string(),
              testing::MatchesRegex("corrupt: " + pack_.string() +
                                    ": offset [0-9]+: the stored bytes of page [0-9a-f]+ are damaged .checksum."));
}

TEST_F(Damage, AVersionThatTheChecksumBelies) {
  const std::string pack = contents(pack_);
  for (size_t at : {size_t{8}, pack.size() - 16}) {
    std::string flipped = pack;
    flipped[at] = 6;
    replace(pack_, flipped);
    EXPECT_EQ(
        check().to_string(),
        fmt::format("corrupt: {}: offset {}: the format version is 6.3, and the checksum that of version 2.3: it was damaged",
                    pack_.string(), at));
    flipped[pack.size() - 40] ^= 1;  // in the checksum: a newer format may have another
    replace(pack_, flipped);
    EXPECT_EQ(check().to_string(), "incompatible: " + pack_.string() +
                                       ": format version 6.3, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
  }
}

TEST_F(Damage, MissingFiles) {
  for (const Path& file : {list(), ir(), state(Moment::prologue), state(Moment::epilogue)}) {
    const std::string whole = contents(file);
    std::filesystem::remove(file);
    EXPECT_THAT(check().to_string(), HasSubstr("corrupt: " + file.string() + " is missing"));
    replace(file, whole);
  }
  std::filesystem::remove(pack_);
  EXPECT_THAT(
      check().to_string(),
      testing::MatchesRegex("corrupt: .*/pages: no pack of pages holds page [0-9a-f]+; missing, though recordings name it: " +
                            pack_.filename().string()));
}

// Without the refusal each of these waits for ever.
TEST_F(Damage, AFifoInPlaceOfAnyFile) {
  for (const Path& file : {json(), ir(), state(Moment::prologue), state(Moment::epilogue), pack_}) {
    const std::string whole = contents(file);
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
    const std::string words = file.string() + ": it is a FIFO, where a regular file is needed: remove it, or name another file";
    EXPECT_EQ(check().to_string(), "io: opening " + words);
    auto database = Database::create(directory_.path());
    const Status published = publish_sample(*database, kernel_, sample_memory(7, 3000)).status();
    if (file == json()) EXPECT_EQ(published.to_string(), "io: opening " + words);
    std::filesystem::remove(file);
    replace(file, whole);
  }
  const Path lock = directory_.path() / ".lock";
  std::filesystem::remove(lock);
  ASSERT_EQ(::mkfifo(lock.c_str(), 0666), 0);
  EXPECT_THAT(Database::create(directory_.path()).status().to_string(), HasSubstr(lock.string() + ": it is a FIFO"));
}

TEST_F(Damage, ALockThatIsALinkIsNotMadeElsewhere) {
  const Path lock = directory_.path() / ".lock", elsewhere = directory_.path() / "elsewhere";
  std::filesystem::remove(lock);
  std::filesystem::create_symlink(elsewhere, lock);
  EXPECT_THAT(Database::create(directory_.path()).status().to_string(), HasSubstr(lock.string() + ": it is a symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

// As of a disk with a block that has gone bad.
TEST_F(Damage, AFileThatCannotBeRead) {
  for (const Path& bad : {json(), ir(), state(Moment::prologue), state(Moment::epilogue), pack_}) {
    auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
      return operation == "read" && path == bad ? error(Code::io, "reading {}: Input/output error", path.string()) : Status();
    });
    auto database = Database::open(directory_.path(), *disk);
    EXPECT_EQ(database->check_instance(kernel_.static_hash, dynamic_).to_string(),
              "io: reading " + bad.string() + ": Input/output error");
  }
}

// Between the reading of its index and of its pages; a mapping would end the process.
TEST_F(Damage, APackThatIsCutShortMeanwhile) {
  auto database = Database::open(directory_.path());
  ASSERT_TRUE(database->check_instance(kernel_.static_hash, dynamic_).ok());
  std::filesystem::resize_file(pack_, 40);
  EXPECT_EQ(database->check_instance(kernel_.static_hash, dynamic_).code(), Code::corrupt);
  EXPECT_THAT(database->check_instance(kernel_.static_hash, dynamic_).message(),
              AnyOf(HasSubstr(pack_.string() + ": offset 40: the file ends there"),    // the first page, or the second,
                    HasSubstr(pack_.string() + ": offset 52: the file ends there")));  // which another thread reads
}

TEST_F(Damage, StateOfAnotherInstance) {
  auto database = Database::create(directory_.path());
  Digest other = *publish_sample(*database, kernel_, sample_memory(2, 100));
  replace(state(Moment::prologue), contents(path(state_file_name(Moment::prologue, kernel_.static_hash, other))));
  EXPECT_EQ(check().message(), state(Moment::prologue).string() + ": offset 40: the file holds the state of another instance");
}

// Of another kernel whose launch is alike, and of another moment.
TEST_F(Damage, AStateThatDiffersInOneOfItsNamesOnly) {
  auto database = Database::create(directory_.path());
  const KernelRecord other = sample_kernel("other");
  ASSERT_EQ(*publish_sample(*database, other, sample_memory(1, kPageSize.count + 3000)), dynamic_);
  for (Moment moment : {Moment::prologue, Moment::epilogue}) {
    const std::string whole = contents(state(moment));
    for (const Path& wrong : {path(state_file_name(moment, other.static_hash, dynamic_)),
                              state(moment == Moment::prologue ? Moment::epilogue : Moment::prologue)}) {
      replace(state(moment), contents(wrong));
      EXPECT_EQ(check().message(), state(moment).string() + ": offset 40: the file holds the state of another instance");
    }
    replace(state(moment), whole);
  }
  EXPECT_TRUE(check().ok());
}

// The pages of each state lie in other packs.
TEST_F(Damage, APackThatIsMissingIsNamedWhicheverStateNeedsIt) {
  const SampleMemory first = sample_memory(1, kPageSize.count + 3000);
  auto database = Database::create(directory_.path());
  InstanceRecord instance = sample_instance(kernel_);
  instance.grid = {2, 1, 1};
  auto publication = *database->begin_publication({});
  Region before = sample_region(first), after = before;
  ASSERT_TRUE(publication->put(batch_of(first.before, before)).ok());
  ASSERT_TRUE(publication->put(batch_of(noise(first.before.size(), 9), after)).ok());
  ASSERT_TRUE(publication->wait().ok());
  Recording recording{kernel_, noise(500, 7), instance, {{before}}, {{after}}, {}};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  ASSERT_TRUE(publication->commit(recording).ok());
  std::vector<std::string> packs = *FileSystem::posix().list(directory_.path() / "pages");
  ASSERT_EQ(packs.size(), 2u);
  for (const std::string& pack : packs) {
    const Path file = directory_.path() / "pages" / pack, aside = directory_.path() / "aside";
    std::filesystem::rename(file, aside);
    auto reader = Database::open(directory_.path()), sizes = Database::open(directory_.path());
    for (const Status& status : {reader->check_instance(kernel_.static_hash, recording.instance.dynamic_hash),
                                 sizes->instance_size(kernel_.static_hash, recording.instance.dynamic_hash).status()})
      EXPECT_THAT(status.message(), testing::EndsWith("; missing, though recordings name it: " + pack));
    std::filesystem::rename(aside, file);
  }
}

TEST_F(Damage, FilesOfAnotherKernel) {
  auto database = Database::create(directory_.path());
  const KernelRecord other = sample_kernel("other");
  ASSERT_TRUE(publish_sample(*database, other, sample_memory(2, 100)).ok());
  const std::string file = contents(json()), lines = contents(list());
  replace(json(), contents(path(kernel_file_name(other.static_hash))));
  EXPECT_EQ(check().code(), Code::corrupt);
  EXPECT_THAT(check().message(), HasSubstr(json().string() + ": "));
  EXPECT_THAT(check().message(), HasSubstr("the file is about kernel " + other.static_hash.hex()));
  replace(json(), file);
  replace(list(), contents(path(list_file_name(other.static_hash))));
  EXPECT_EQ(check().code(), Code::corrupt);
  EXPECT_THAT(check().message(), HasSubstr(list().string() + ": "));
  EXPECT_THAT(check().message(), HasSubstr("the file lists the instances of kernel " + other.static_hash.hex()));
  replace(list(), lines);
  EXPECT_TRUE(check().ok());
}

// What a pack says of its pages may be wrong though its checksums are right.
TEST(Pack, PagesThatCannotBeAreRefused) {
  TemporaryDirectory directory;
  const Path path = directory.path() / "pack";
  const auto read = [&](const std::function<void(PackedPage&)>& change) -> Status {
    const ByteVector contents[] = {noise(kPageSize.count, 1), ByteVector(5000, std::byte{7}), noise(100, 2)};
    ByteVector bytes = pack_header();
    std::vector<PackedPage> pages;
    for (const ByteVector& content : contents) {
      ByteVector stored(content.size());
      store_page(content, digest_of(content), stored, pages.emplace_back());
      stored.resize(pages.back().stored);
      pages.back().offset = bytes.size();
      bytes.insert(bytes.end(), stored.begin(), stored.end());
    }
    change(pages[1]);
    Digest name;
    const ByteVector tail = pack_tail(pages, name);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    replace(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    MNEME_ASSIGN(auto file, FileSystem::posix().open(path));
    MNEME_ASSIGN(const auto found, read_pack(*file, "pack"));
    ByteVector scratch;
    for (size_t i = 0; i < found.size(); ++i) {
      ByteVector into(contents[i].size());
      MNEME_TRY(read_page(*file, found[i], into, scratch, "pack"));
      EXPECT_EQ(into, contents[i]);
    }
    return {};
  };
  const auto says = [&](const std::function<void(PackedPage&)>& change) {
    const Status status = read(change);
    EXPECT_EQ(status.code(), Code::corrupt) << status.to_string();
    return status.message();
  };
  EXPECT_TRUE(read([](PackedPage&) {}).ok());
  EXPECT_THAT(says([](PackedPage& page) { page.offset += 1; }), HasSubstr("do not follow the page before"));
  EXPECT_THAT(says([](PackedPage& page) { page.offset -= 1; }), HasSubstr("do not follow the page before"));
  EXPECT_THAT(says([](PackedPage& page) { page.size = 0; }), HasSubstr("a page of 0 bytes"));
  EXPECT_THAT(says([](PackedPage& page) { page.size = kPageSize.count + 1; }), HasSubstr("a page of 65537 bytes"));
  EXPECT_THAT(says([](PackedPage& page) { page.size = 4999; }), HasSubstr("has 4999 bytes, 5000 expected"));
  EXPECT_THAT(says([](PackedPage& page) { page.encoding = static_cast<PageEncoding>(2); }), HasSubstr("encoding 2 is not known"));
  EXPECT_THAT(says([](PackedPage& page) { page.encoding = PageEncoding::raw; }), HasSubstr("encoding 0 is not known"));
  EXPECT_THAT(says([](PackedPage& page) { page.checksum ^= 1; }), HasSubstr("are damaged (checksum)"));
  EXPECT_THAT(says([](PackedPage& page) { page.digest = Digest(); }), HasSubstr("has another digest"));
}

TEST_F(Damage, OneKernelDoesNotHideTheOthers) {
  auto database = Database::create(directory_.path());
  ASSERT_TRUE(publish_sample(*database, sample_kernel("other"), sample_memory(2, 100)).ok());
  replace(json(), "{");
  auto listing = Database::open(directory_.path())->list();
  ASSERT_TRUE(listing.ok());
  ASSERT_EQ(listing->kernels.size(), 1u);
  EXPECT_EQ(listing->kernels[0].kernel.name, "other");
  ASSERT_EQ(listing->damaged.size(), 1u);
  EXPECT_EQ(listing->damaged[0].message(), json().string() + ": offset 1: this is not JSON");
}

TEST_F(Damage, DamagedPackDoesNotHideTheOthers) {
  auto database = Database::create(directory_.path());
  KernelRecord other = sample_kernel("other");
  Digest dynamic = *publish_sample(*database, other, sample_memory(2, 100));
  replace(pack_, "nothing");
  auto reader = Database::open(directory_.path());
  EXPECT_TRUE(reader->check_instance(other.static_hash, dynamic).ok());
  EXPECT_EQ(check().message(), pack_.string() + ": offset 7: the file is too short for a pack of pages (7 bytes)");
}

}  // namespace
}  // namespace mneme
