#include "mneme/compile/object_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "mneme/compile/compiled_code.h"

namespace mneme {
namespace {

using testing::ElementsAre;

// Translates by taking the pipeline's first letter, so that pipelines that begin alike end in the same code.
class CountingCompiler final : public Compiler {
 public:
  struct Counts {
    int translated = 0, assembled = 0;
  };
  explicit CountingCompiler(Counts& counts, std::string identity = "counting 1")
      : counts_(counts), identity_(std::move(identity)) {}

  Result<Translation> translate(const ir::Module&, const CompileOptions& options) override {
    ++counts_.translated;
    if (options.passes.empty()) return error(Code::invalid_argument, "no pipeline");
    return Translation{options.passes.substr(0, 1), "sm_90", options.assembler, options.kernels, {{"optimise", Nanoseconds(5)}}};
  }
  Result<CompiledCode> assemble(const Translation& translation) override {
    ++counts_.assembled;
    CompiledCode code;
    code.image.device = DeviceKind::cuda;
    code.image.jit = {.level = 2, .load_cache = JitOptions::LoadCache::cg};
    code.image.bytes.assign(1000, static_cast<std::byte>(translation.code[0]));
    code.digest = digest_of(code.image.bytes);
    code.translation_digest = translation.digest();
    code.facts.instructions = 7;
    code.facts.registers = 3;
    code.facts.spill_loads = Bytes(12);
    code.warnings = {"ptxas warning : words"};
    code.times = translation.times;
    code.times.push_back({"assemble", Nanoseconds(6)});
    code.assembler = "counter";
    return code;
  }
  Result<std::string> emit(const ir::Module&, const CompileOptions&, Stage) override { return std::string("text"); }
  Result<std::string> disassemble(const CodeImage&) const override { return std::string("instructions"); }
  std::string identity() const override { return identity_; }

 private:
  Counts& counts_;
  std::string identity_;
};

ir::Module module_of(const std::string& text) { return ir::Module::parse(std::as_bytes(std::span(text)), "test.ll").value(); }

class ObjectCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("mneme-object-cache-{}", ::getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Each in a compiler of its own, as another process would.
  CompiledCode compile(const CompileOptions& options, const std::string& ir = "define void @k() { ret void }",
                       const std::string& identity = "counting 1") {
    auto cache = std::make_shared<DiskCache>(CachePlace{folder_, 1_MiB}, *files_);
    auto compiler = create_caching_compiler(std::make_unique<CountingCompiler>(counts_, identity), cache);
    auto code = compiler->compile(module_of(ir), options);
    EXPECT_TRUE(code.ok()) << code.status().to_string();
    return code.ok() ? std::move(*code) : CompiledCode();
  }

  static std::vector<std::string> stages(const CompiledCode& code) {
    std::vector<std::string> names;
    for (const StageTime& time : code.times) names.push_back(time.stage);
    return names;
  }

  std::vector<Path> entries() const {
    std::vector<Path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      if (entry.is_regular_file() && entry.path().filename().string().size() == 32) found.push_back(entry.path());
    return found;
  }

  Path folder_;
  FileSystem* files_ = &FileSystem::posix();
  CountingCompiler::Counts counts_;
};

TEST_F(ObjectCacheTest, TheSecondIdenticalCompilationMakesNothing) {
  const CompiledCode first = compile({.passes = "a"}), second = compile({.passes = "a"});
  EXPECT_EQ(counts_.translated, 1);
  EXPECT_EQ(counts_.assembled, 1);
  EXPECT_EQ(first.cache, CacheUse::miss);
  EXPECT_EQ(second.cache, CacheUse::hit);
  EXPECT_THAT(stages(first), ElementsAre("optimise", "cache", "assemble"));
  EXPECT_THAT(stages(second), ElementsAre("cache"));
  EXPECT_EQ(encode(second), encode(first));
  EXPECT_EQ(second.image.jit, first.image.jit);
  EXPECT_EQ(second.facts, first.facts);
}

TEST_F(ObjectCacheTest, ACompilationIsFoundByTheDigestOfItsModule) {
  const std::string ir = "define void @k() { ret void }";
  const Digest digest = digest_of(std::as_bytes(std::span(ir)));
  auto cache = std::make_shared<DiskCache>(CachePlace{folder_, 1_MiB}, *files_);
  auto compiler = create_caching_compiler(std::make_unique<CountingCompiler>(counts_), cache);
  EXPECT_FALSE(compiler->find(digest, {.passes = "a"}).has_value());
  const CompiledCode first = compile({.passes = "a"}, ir);

  const auto found = compiler->find(digest, {.passes = "a"});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cache, CacheUse::hit);
  EXPECT_THAT(stages(*found), ElementsAre("cache"));
  EXPECT_EQ(encode(*found), encode(first));
  EXPECT_FALSE(compiler->find(digest, {.passes = "b"}).has_value());
  EXPECT_FALSE(compiler->find(Digest(), {.passes = "a"}).has_value());
  EXPECT_EQ(counts_.translated, 1);

  // What is damaged is not there, and neither is it for who looks next.
  for (const Path& entry : entries()) std::filesystem::resize_file(entry, 10);
  EXPECT_FALSE(compiler->find(digest, {.passes = "a"}).has_value());
  EXPECT_EQ(compile({.passes = "a"}, ir).cache, CacheUse::miss);
  EXPECT_FALSE(CountingCompiler(counts_).find(digest, {.passes = "a"}).has_value()) << "a compiler without a cache";
}

TEST_F(ObjectCacheTest, WhatEndsInTheSameCodeIsAssembledOnce) {
  compile({.passes = "a"});
  const CompiledCode same = compile({.passes = "a,b"});
  EXPECT_EQ(counts_.translated, 2);
  EXPECT_EQ(counts_.assembled, 1);
  EXPECT_EQ(same.cache, CacheUse::same_code);
  EXPECT_THAT(stages(same), ElementsAre("optimise", "cache"));
  EXPECT_EQ(compile({.passes = "a,b"}).cache, CacheUse::hit);
}

TEST_F(ObjectCacheTest, EveryInputIsPartOfTheKey) {
  const CompileOptions usual{.passes = "a"};
  compile(usual);
  std::vector<CompileOptions> others(11, usual);
  others[0].passes = "b";
  others[1].codegen.level = 1;
  others[2].assembler.max_registers = 32;
  others[3].bindings = {{"g", DevicePtr(4096)}};
  others[4].kernels = {"k"};
  others[6].pass_plugins = {(folder_ / "plugin.so").string()};
  others[7].codegen.fast_math = {"nnan"};
  others[5].specialisation.arguments = {{0, ByteVector(4)}};
  others[8].tracking = {{{DevicePtr(4096), Bytes(8), Bytes(0)}}, Bytes(512)};
  others[9].tracking = {{{DevicePtr(4096), Bytes(8), Bytes(0)}}, Bytes(1024)};
  others[10].tracking = {{{DevicePtr(4096), Bytes(8), Bytes(0)}}, Bytes(512), NoteOf::block};
  for (const CompileOptions& other : others) EXPECT_NE(compile(other).cache, CacheUse::hit) << &other - others.data();
  EXPECT_NE(compile(usual, "define void @other() { ret void }").cache, CacheUse::hit);
  EXPECT_EQ(compile(usual, "define void @k() { ret void }", "counting 2").cache, CacheUse::miss);
  EXPECT_EQ(compile(usual).cache, CacheUse::hit);
}

TEST_F(ObjectCacheTest, WhatIsInAPluginIsPartOfTheKey) {
  std::filesystem::create_directories(folder_);
  const std::string first = folder_ / "first.so", second = folder_ / "second.so";
  auto write = [](const std::string& path, std::string_view text) {
    ASSERT_TRUE(FileSystem::posix().write_atomically(path, std::as_bytes(std::span(text))).ok());
  };
  write(first, "passes");
  write(second, "passes");
  compile({.passes = "a", .pass_plugins = {first}});
  EXPECT_EQ(compile({.passes = "a", .pass_plugins = {second}}).cache, CacheUse::hit);
  write(first, "better passes");
  EXPECT_EQ(compile({.passes = "a", .pass_plugins = {first}}).cache, CacheUse::same_code);
}

TEST_F(ObjectCacheTest, FailuresAreNotKept) {
  auto cache = std::make_shared<DiskCache>(CachePlace{folder_, 1_MiB});
  auto compiler = create_caching_compiler(std::make_unique<CountingCompiler>(counts_), cache);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(compiler->compile(module_of("define void @k() { ret void }"), {.passes = ""}).status().to_string(),
              "invalid_argument: no pipeline");
    EXPECT_EQ(counts_.translated, i);
  }
}

TEST_F(ObjectCacheTest, DamagedEntriesAreMadeAgain) {
  compile({.passes = "a"});
  ASSERT_EQ(entries().size(), 2u);
  for (const Path& entry : entries()) std::filesystem::resize_file(entry, std::filesystem::file_size(entry) - 1);
  EXPECT_EQ(compile({.passes = "a"}).cache, CacheUse::miss);
  EXPECT_EQ(compile({.passes = "a"}).cache, CacheUse::hit);
}

TEST_F(ObjectCacheTest, AnObjectThatIsGoneIsMadeAgain) {
  compile({.passes = "a"});
  for (const Path& entry : entries())
    if (std::filesystem::file_size(entry) > 500) std::filesystem::remove(entry);
  EXPECT_EQ(compile({.passes = "a"}).cache, CacheUse::miss);
}

TEST_F(ObjectCacheTest, AFullDiskIsNoFailure) {
  auto full = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path& path, uint64_t) {
    return operation == "append" ? error(Code::exhausted, "writing {}: No space left on device", path.string()) : Status();
  });
  files_ = full.get();
  testing::internal::CaptureStderr();
  EXPECT_EQ(compile({.passes = "a"}).cache, CacheUse::miss);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_THAT(words, testing::HasSubstr("No space left on device"));
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
  EXPECT_EQ(compile({.passes = "a"}).cache, CacheUse::miss);
}

TEST(CompiledCode, BytesThatAreCutShortAreCorrupt) {
  CompiledCode code;
  code.image.bytes.assign(40, std::byte{7});
  code.digest = digest_of(code.image.bytes);
  code.assembler = "lld";
  const ByteVector whole = encode(code);
  ASSERT_TRUE(decode_compiled_code(whole, "x").ok());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(decode_compiled_code(ByteSpan(whole).first(size), "x").status().code(), Code::corrupt) << size;
  ByteVector changed = whole;
  changed[100] ^= std::byte{1};
  EXPECT_EQ(decode_compiled_code(changed, "x").status().code(), Code::corrupt);
}

// Code that is not compiled from IR: PTX that was recorded is assembled once, and machine code is only handed on.
TEST_F(ObjectCacheTest, WhatIsOnlyAssembledIsKeptToo) {
  auto cache = std::make_shared<DiskCache>(CachePlace{folder_, 1_MiB}, *files_);
  auto compiler = create_caching_compiler(std::make_unique<CountingCompiler>(counts_), cache);
  Translation translation{.code = "ptx", .architecture = "sm_90", .assembler = {}, .kernels = {"k"}, .times = {}};
  EXPECT_EQ(compiler->assemble(translation)->cache, CacheUse::miss);
  auto again = compiler->assemble(translation);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->cache, CacheUse::same_code);
  EXPECT_EQ(again->facts.registers, 3u);
  EXPECT_EQ(counts_.assembled, 1);
  translation.assembler.level = 1;
  EXPECT_EQ(compiler->assemble(translation)->cache, CacheUse::miss);
  const size_t kept = entries().size();
  translation.machine_code = ByteVector(10);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(compiler->assemble(translation)->cache, CacheUse::off);
  EXPECT_EQ(counts_.assembled, 4);
  EXPECT_EQ(entries().size(), kept);
}

}  // namespace
}  // namespace mneme
