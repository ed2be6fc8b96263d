#include "mneme/cli/compiler_caches.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

#include <fstream>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Path> folders_of(const std::map<std::string, std::string>& environment) {
  return compiler_cache_folders([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

CodeImageRecord image_of(std::string_view text) {
  const ByteSpan bytes = std::as_bytes(std::span(text));
  return {CodeImageRecord::Kind::cubin, digest_of(bytes), Bytes(bytes.size())};
}

void write(const Path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST(CompilerCaches, TheFoldersAreThoseOfTheProgramsEnvironment) {
  EXPECT_THAT(folders_of({{"TRITON_CACHE_DIR", "/t"}, {"TORCHINDUCTOR_CACHE_DIR", "/i"}, {"HOME", "/home/a"}}),
              ElementsAre("/t", "/i/triton"));
  EXPECT_THAT(folders_of({{"HOME", "/home/a"}, {"USER", "a"}}),
              ElementsAre("/home/a/.triton/cache", "/tmp/torchinductor_a/triton"));
  EXPECT_THAT(folders_of({{"HOME", "/home/a"}, {"TRITON_HOME", "/t"}, {"LOGNAME", "a/b"}, {"TMPDIR", "/var/tmp"}}),
              ElementsAre("/t/.triton/cache", "/var/tmp/torchinductor_a_b/triton"));
  EXPECT_THAT(folders_of({}), ElementsAre(Path(std::string("/tmp/torchinductor_") + ::getpwuid(::getuid())->pw_name) / "triton"));
}

TEST(CompilerCaches, ACubinIsFoundByItsBytesWhateverItsName) {
  TemporaryDirectory first, second;
  write(first.path() / "b" / "k.cubin", "one");
  write(first.path() / "a" / "0" / "other.cubin", "one");
  write(first.path() / "a" / "same size.cubin", "two");
  write(first.path() / "a" / "k.ptx", "one");
  write(second.path() / "k.cubin", "one");
  CompilerCaches caches({second.path(), first.path(), "/there/is/no/such/folder"});
  EXPECT_THAT(caches.find(image_of("one")),
              ElementsAre(second.path() / "k.cubin", first.path() / "a" / "0" / "other.cubin", first.path() / "b" / "k.cubin"));
  EXPECT_THAT(caches.find(image_of("two")), ElementsAre(first.path() / "a" / "same size.cubin"));
  EXPECT_THAT(caches.find(image_of("longer")), IsEmpty());
}

}  // namespace
}  // namespace mneme::cli
