#include "mneme/base/shared_library.h"

#include <gtest/gtest.h>

#include <fstream>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

using Unary = double (*)(double);

TEST(SharedLibrary, ItsFunctionsAreFound) {
  Unary cosine = nullptr, square_root = nullptr;
  const auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  ASSERT_TRUE(
      library->find_all({{"cos", reinterpret_cast<void**>(&cosine)}, {"sqrt", reinterpret_cast<void**>(&square_root)}}).ok());
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(square_root(4), 2);
  EXPECT_EQ(library->find("no_such_function"), nullptr);
}

TEST(SharedLibrary, TellsTheFileBesideTheName) {
  const auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  EXPECT_EQ(library->name(), "libm.so.6");
  EXPECT_TRUE(std::filesystem::path(library->file()).is_absolute()) << library->file();
  EXPECT_TRUE(std::filesystem::exists(library->file())) << library->file();
}

TEST(SharedLibrary, TheFirstThatHasAllFunctionsIsTaken) {
  const std::vector<std::string> names = {"libmneme-that-is-not-there.so", "libm.so.6", "libstdc++.so.6"};
  void* function = nullptr;
  const auto library = SharedLibrary::open_first(names, {{"__cxa_throw", &function}});
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  EXPECT_EQ(library->name(), "libstdc++.so.6");
  EXPECT_EQ(function, library->find("__cxa_throw"));
}

TEST(SharedLibrary, WhereNoneHasThemTheReasonsAreTold) {
  const std::vector<std::string> names = {"libmneme-that-is-not-there.so", "libm.so.6"};
  void* function = nullptr;
  EXPECT_EQ(
      SharedLibrary::open_first(names, {{"no_such_function", &function}}).status().to_string(),
      "unavailable: libmneme-that-is-not-there.so: cannot open shared object file: No such file or directory; libm.so.6 has "
      "no function no_such_function");
  EXPECT_EQ(SharedLibrary::open_first({}, {{"no_such_function", &function}}).status().to_string(),
            "unavailable: no place to look in");
}

TEST(SharedLibrary, IsLookedForInFoldersThatHaveItFirst) {
  TemporaryDirectory here;
  std::ofstream(here.path() / "libb.so.1") << "";
  const std::vector<Path> folders = {"/nowhere", here.path()};
  EXPECT_EQ(library_paths(folders, {"liba.so.2", "libb.so.1"}),
            (std::vector<std::string>{here.path() / "libb.so.1", "liba.so.2", "libb.so.1"}));
}

TEST(SharedLibrary, OneThatTheProcessDoesNotHaveIsNotLoadedWhereThatIsAskedFor) {
  EXPECT_FALSE(SharedLibrary::open("libmneme-that-is-not-there.so", RTLD_LOCAL | RTLD_NOLOAD).ok());
  EXPECT_TRUE(SharedLibrary::open("libc.so.6", RTLD_LOCAL | RTLD_NOLOAD).ok());
}

}  // namespace
}  // namespace mneme
