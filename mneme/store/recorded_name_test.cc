#include "mneme/store/recorded_name.h"

#include <gmock/gmock.h>

#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KernelDocument kernel(const std::string& demangled, const std::string& mangled = "") {
  KernelDocument document;
  document.kernel = sample_kernel(demangled + mangled);
  document.kernel.demangled = demangled;
  document.kernel.name = mangled.empty() ? "_Z" + demangled : mangled;
  return document;
}

const std::vector<KernelDocument> kKernels = {
    kernel("scale(int*, int, int)", "_Z5scalePiii"),    kernel("void physics::step<float>(float*, int)"),
    kernel("void physics::step<double>(double*, int)"), kernel("rescale(float*)"),
    kernel("(anonymous namespace)::fill(int)"),         kernel("void each<std::pair<int, (A)2> >(int (*)(float), int)")};

TEST(RecordedName, AKernelIsFoundByEachOfItsNames) {
  for (const char* name : {"scale", "scale(int*, int, int)", "scale(int*,int,int)", "_Z5scalePiii", "5scale"})
    EXPECT_THAT(find_kernels(kKernels, name), ElementsAre(0)) << name;
  for (const char* name : {"step<float>", "physics::step<float>", "void physics::step<float>(float*, int)", "p<float"})
    EXPECT_THAT(find_kernels(kKernels, name), ElementsAre(1)) << name;
  for (const char* name : {"fill", "(anonymous namespace)::fill", "anonymous"})
    EXPECT_THAT(find_kernels(kKernels, name), ElementsAre(4)) << name;
  for (const char* name : {"each", "each<std::pair<int, (A)2> >", "each<std::pair<int,(A)2>>"})
    EXPECT_THAT(find_kernels(kKernels, name), ElementsAre(5)) << name;
  const std::string hash = kKernels[3].kernel.static_hash.hex();
  std::string upper = hash;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& name : {hash, upper, hash.substr(0, 8), upper.substr(0, 8)})
    EXPECT_THAT(find_kernels(kKernels, name), ElementsAre(3)) << name;
}

TEST(RecordedName, AWholeNameGoesBeforeAPartOfAnother) {
  EXPECT_THAT(find_kernels(kKernels, "scale"), ElementsAre(0)) << "rescale has it as a part";
  EXPECT_THAT(find_kernels(kKernels, "cale"), ElementsAre(0, 3));
  EXPECT_THAT(find_kernels(kKernels, "step"), ElementsAre(1, 2));
  EXPECT_THAT(find_kernels(kKernels, "nothing"), IsEmpty());
  EXPECT_THAT(find_kernels(kKernels, ""), IsEmpty());
  EXPECT_THAT(find_kernels(kKernels, "::"), IsEmpty()) << "punctuation is in many names, and means none";
  const std::vector<KernelDocument> brackets = {kernel("void arrow<decltype (x->y)>(int)"), kernel("arrows()"),
                                                kernel("f()::{unnamed type#1}::step(int)"), kernel("steps()")};
  EXPECT_THAT(find_kernels(brackets, "arrow"), ElementsAre(0));
  EXPECT_THAT(find_kernels(brackets, "step"), ElementsAre(2));
  const std::vector<KernelDocument> kernels = {kernel("twice()", "_Z5twicev"), kernel("other()", "_Z5twicevX"),
                                               kernel("gr\xc3\xb6\xc3\x9f"
                                                      "e()")};
  EXPECT_THAT(find_kernels(kernels, "_Z5twicev"), ElementsAre(0));
  EXPECT_THAT(find_kernels(kernels, "\xc3\xb6"), ElementsAre(2)) << "letters of any language are a part of a name";
}

TEST(RecordedName, ANumberBehindTheLastMarkIsOfLaunches) {
  EXPECT_EQ(split_launch_name("scale#3"), (LaunchName{"scale", {3}}));
  EXPECT_EQ(split_launch_name("scale#0,2"), (LaunchName{"scale", {0, 2}}));
  EXPECT_EQ(split_launch_name("#1"), (LaunchName{"", {1}}));
  for (const char* word :
       {"scale", "k<main::{lambda(int)#1}>", "scale#", "scale#x", "scale#1,", "scale#-1", "a#99999999999999999999"})
    EXPECT_EQ(split_launch_name(word), (LaunchName{word, {}})) << word;
}

TEST(RecordedName, EachKernelIsNamedAsShortAsItMayBe) {
  Listing listing{kKernels, {}};
  listing.kernels.push_back(kernel("twice()", "_Z5twicev"));
  listing.kernels.push_back(kernel("twice()", "_Z5twicevX"));  // of other code
  listing.kernels.push_back(kernel("\x1b]0;title\x07()"));
  listing.kernels.push_back(kernel("launch#1()"));  // whose short name would be another's second launch
  const std::vector<KernelName> names = kernel_names(listing);
  ASSERT_EQ(names.size(), listing.kernels.size());
  EXPECT_EQ(names[0].word, "scale");
  EXPECT_EQ(names[1].word, "step<float>") << "both are physics::step";
  EXPECT_EQ(names[3].word, "rescale");
  EXPECT_EQ(names[4].word, "fill");
  EXPECT_EQ(names[5].word, "each");
  EXPECT_EQ(names[9].word, "launch#1()");
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_THAT(find_kernels(listing.kernels, names[i].word), ElementsAre(i)) << names[i].word;
    if (i >= 6 && i < 9) EXPECT_TRUE(listing.kernels[i].kernel.static_hash.hex().starts_with(names[i].word)) << names[i].word;
    if (i >= 6 && i < 9) EXPECT_LT(names[i].word.size(), 10u) << "as many digits as it takes";
  }
}

class RecordedNames : public testing::Test {
 protected:
  void SetUp() override {
    auto database = Database::create(directory_.path());
    ASSERT_TRUE(database.ok());
    for (uint32_t seed : {1, 2, 3}) instances_.push_back(*publish_sample(*database, scale_, sample_memory(seed, 100)));
  }
  void add(const KernelRecord& kernel) {
    auto database = Database::create(directory_.path());
    ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(4, 100)).ok());
  }
  std::string path() const { return directory_.path().string(); }
  std::string file() const { return path() + "/" + scale_.static_hash.hex() + ".json"; }

  TemporaryDirectory directory_;
  KernelRecord scale_ = sample_kernel("scale");
  std::vector<Digest> instances_;
};

TEST_F(RecordedNames, TheOnlyKernelNeedsNoName) {
  for (const std::string& word : {"", "scale", "ca", "#1"}) {
    auto found = locate_recorded(path(), word);
    ASSERT_TRUE(found.ok()) << word << found.status().message();
    EXPECT_EQ(found->kernel.kernel.static_hash, scale_.static_hash);
    EXPECT_EQ(found->database.directory(), directory_.path());
  }
  EXPECT_THAT(locate_recorded(path(), "scale")->instances, IsEmpty());
}

TEST_F(RecordedNames, ALaunchGoesByItsNumber) {
  EXPECT_THAT(locate_recorded(path(), "scale#2")->instances, ElementsAre(instances_[2]));
  EXPECT_THAT(locate_recorded(path(), "#2,0,2")->instances, ElementsAre(instances_[2], instances_[0]));
  EXPECT_THAT(locate_recorded(path(), scale_.static_hash.hex() + "#1")->instances, ElementsAre(instances_[1]));
  EXPECT_THAT(locate_recorded(file() + "#1")->instances, ElementsAre(instances_[1]));
  EXPECT_EQ(locate_recorded(path(), "scale#3").status().to_string(),
            "not_found: scale() has 3 instances, numbered from 0, and none is #3");
}

TEST_F(RecordedNames, AKernelsFileIsItsName) {
  EXPECT_TRUE(names_kernel_file(file()));
  EXPECT_FALSE(names_kernel_file(path()));
  std::filesystem::create_directory(directory_.path() / "folder.json");
  EXPECT_FALSE(names_kernel_file(path() + "/folder.json"));
  EXPECT_EQ(locate_recorded(file())->kernel.kernel.static_hash, scale_.static_hash);
  EXPECT_EQ(locate_recorded(file(), "scale").status().to_string(),
            "invalid_argument: " + file() + " names one kernel already, and 'scale' is another name: leave one of the two out");
}

TEST_F(RecordedNames, WhatIsNotOneHasAllThereIs) {
  add(sample_kernel("rescale"));
  const std::string lines = "\n  " + sample_kernel("rescale").static_hash.hex() + "  rescale()";
  auto none = locate_recorded(path());
  EXPECT_EQ(none.status().code(), Code::invalid_argument);
  EXPECT_THAT(none.status().message(),
              HasSubstr(" has 2 kernels: name one behind it, by its name, a part of that, or the first digits of its hash\n  "));
  for (const Status& status : {none.status(), locate_recorded(path(), "cal").status(), locate_recorded(path(), "x").status()}) {
    EXPECT_THAT(status.message(), HasSubstr(lines));
    EXPECT_THAT(status.message(), HasSubstr("\n  " + scale_.static_hash.hex() + "  scale()"));
  }
  EXPECT_THAT(locate_recorded(path(), "cal").status().message(),
              HasSubstr("2 kernels in " + path() + " match 'cal': choose one"));
  EXPECT_THAT(locate_recorded(path(), "x").status().message(), HasSubstr("no kernel in " + path() + " matches 'x'; there are\n"));
}

TEST_F(RecordedNames, DamageIsSaidWhereItMayBeWhatIsMeant) {
  std::ofstream(directory_.path() / (std::string(32, '0') + ".json")) << "{";
  EXPECT_TRUE(locate_recorded(path(), "scale").ok());
  EXPECT_EQ(locate_recorded(path(), "other").status().code(), Code::corrupt);
  EXPECT_THAT(locate_recorded(path()).status().message(), HasSubstr("\n  damaged: "));
  EXPECT_THAT(locate_recorded(path()).status().message(), HasSubstr(" has 2 kernels: "));
  std::filesystem::remove(file());
  EXPECT_EQ(locate_recorded(path()).status().code(), Code::corrupt) << "which it is, rather than empty";
}

TEST_F(RecordedNames, NamesControlNoTerminal) {
  KernelDocument escaping = kernel("\x1b[2J()");
  Listing listing{{escaping, kernel("other()")}, {}};
  for (int i = 0; i < 2; ++i) escaping.instances.push_back(sample_instance(escaping.kernel));
  for (const Status& status : {choose_kernel(listing, "db", "").status(), choose_kernel(listing, "db", "\x1b[3J").status(),
                               find_instance(escaping, "").status(), find_instance(escaping, "\x1b").status(),
                               numbered_instances(escaping, {2}).status()}) {
    EXPECT_THAT(status.message(), HasSubstr("\\x1b[2J()"));
    EXPECT_EQ(status.message().find('\x1b'), std::string::npos);
  }
  escaping.instances.resize(1);
  EXPECT_EQ(numbered_instances(escaping, {1}).status().to_string(),
            "not_found: \\x1b[2J() has 1 instance, numbered from 0, and none is #1");
}

TEST_F(RecordedNames, AnInstanceGoesByTheFirstDigitsOfItsHash) {
  const KernelDocument document = locate_recorded(path())->kernel;
  EXPECT_EQ(*find_instance(document, instances_[1].hex().substr(0, 12)), instances_[1]);
  EXPECT_THAT(find_instance(document, "").status().message(),
              HasSubstr("scale() has 3 instances: choose one by its number, KERNEL#N, or its hash with -rid\n  #0  " +
                        instances_[0].hex() + "  grid "));
  EXPECT_THAT(find_instance(document, "xyz").status().message(),
              HasSubstr("no instance of scale() begins with 'xyz'; there are\n  #0  "));
  EXPECT_EQ(find_instance(kernel("empty()"), "").status().to_string(), "not_found: empty() has no recorded instance");
}

TEST_F(RecordedNames, DigitsThatSeveralInstancesBeginWithMeanNone) {
  KernelDocument document = locate_recorded(path())->kernel;
  document.instances.resize(3);
  for (size_t i = 0; i < 3; ++i)
    document.instances[i].dynamic_hash =
        *Digest::from_hex(std::string(i == 2 ? "abc" : "abd") + std::string(28, '0') + std::to_string(i));
  EXPECT_EQ(*find_instance(document, "abc"), document.instances[2].dynamic_hash);
  EXPECT_EQ(*find_instance(document, "ABC"), document.instances[2].dynamic_hash);
  const Status several = find_instance(document, "abd").status();
  EXPECT_EQ(several.code(), Code::not_found);
  EXPECT_THAT(several.message(), HasSubstr("2 instances of scale() begin with 'abd'; there are\n  #0  abd"));
  EXPECT_THAT(several.message(), HasSubstr("\n  #1  abd"));
  EXPECT_EQ(several.message().find("#2"), std::string::npos);
}

TEST_F(RecordedNames, OfManyTwentyAreListed) {
  const auto lines_of = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  KernelDocument many;
  many.kernel = sample_kernel("many");
  Listing listing;
  for (uint32_t i = 0; i < 20; ++i) {
    many.instances.push_back(sample_instance(many.kernel));
    listing.kernels.emplace_back().kernel = sample_kernel("kernel" + std::to_string(i));
  }
  EXPECT_EQ(lines_of(find_instance(many, "").status().message()), 20);
  EXPECT_EQ(lines_of(choose_kernel(listing, "db", "kernel").status().message()), 20);
  for (uint32_t i = 20; i < 23; ++i) {
    many.instances.push_back(sample_instance(many.kernel));
    listing.kernels.emplace_back().kernel = sample_kernel("kernel" + std::to_string(i));
  }
  for (const std::string& text :
       {find_instance(many, "").status().message(), choose_kernel(listing, "db", "kernel").status().message()}) {
    EXPECT_EQ(lines_of(text), 21);
    EXPECT_THAT(text, testing::EndsWith("\n  and 3 more: `mneme ls` has all"));
  }
}

TEST_F(RecordedNames, ALaunchIsNamedAsItIsRead) {
  const Listing listing = *Database::open(directory_.path())->list();
  const KernelName name = kernel_names(listing)[0];
  EXPECT_EQ(launch_word(name, listing.kernels[0], {instances_[2], instances_[0]}), "scale#0,2");
  KernelDocument one = listing.kernels[0];
  one.instances.resize(1);
  EXPECT_EQ(launch_word(name, one, {instances_[0]}), "scale");
  EXPECT_EQ(*launch_words(directory_.path(), scale_.static_hash, {instances_[1]}), path() + " scale#1");
  KernelRecord other = sample_kernel("scale<float>");
  add(other);
  EXPECT_EQ(*launch_words(directory_.path() / "." / "", other.static_hash, {}), path() + "/./ 'scale<float>'");
  EXPECT_EQ(launch_words(directory_.path(), Digest{}, {}).status().to_string(),
            "not_found: " + path() + " holds no kernel " + Digest{}.hex() + " that can be read");
}

TEST_F(RecordedNames, ADatabaseBelowIsNamedAsSeenFromHere) {
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path().parent_path());
  const auto words = launch_words(directory_.path(), scale_.static_hash, {instances_[0], instances_[2]});
  std::filesystem::current_path(before);
  EXPECT_EQ(*words, directory_.path().filename().string() + " scale#0,2");
}

TEST_F(RecordedNames, OfTwoLaunchesEachHasItsNumber) {
  KernelDocument two = kernel("scale(int)");
  for (const char* name : {"first", "second"})
    two.instances.emplace_back().dynamic_hash = digest_of(std::as_bytes(std::span(std::string_view(name))));
  const KernelName name{"scale", "scale(int)", two.kernel.static_hash, 2};
  EXPECT_EQ(launch_word(name, two, {two.instances[1].dynamic_hash}), "scale#1");
}

}  // namespace
}  // namespace mneme
