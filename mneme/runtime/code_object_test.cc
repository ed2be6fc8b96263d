#include "mneme/runtime/code_object.h"

#include <gtest/gtest.h>

#include <fstream>

#include "mneme/runtime/code_bundle.h"
#include "mneme/runtime/device_code.h"
#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/segments.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::bytes_of;
using testing::make_bundle;

ByteVector read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return bytes_of(text);
}

// What clang has made of testing/kernels.hip.
TEST(CodeObject, SaysWhatItDefines) {
  const auto symbols = read_code_symbols(read_file(MNEME_TEST_BUNDLE), "a module");
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  EXPECT_EQ(std::set<std::string>(symbols->kernels.begin(), symbols->kernels.end()),
            (std::set<std::string>{"_Z3addPi4Pairi", "_Z5clearPi"}));
  ASSERT_TRUE(symbols->variables.contains("counter"));
  EXPECT_EQ(symbols->variables.at("counter"), 4u);
  EXPECT_EQ(symbols->managed.size(), 2u);
  const int first[] = {7, 8};
  EXPECT_EQ(symbols->managed.at("counted"), bytes_of({reinterpret_cast<const char*>(first), sizeof first}));
  EXPECT_EQ(symbols->managed.at("zeroed"), ByteVector(4)) << "which takes no room in the file";
  EXPECT_FALSE(symbols->variables.contains("counted") || symbols->variables.contains("counted.managed"));
}

TEST(CodeObject, WithoutABundleBecomesOne) {
  const ByteVector bundle = read_file(MNEME_TEST_BUNDLE);
  const auto code = find_code_object(bundle, "gfx942", "b");
  ASSERT_TRUE(code.ok());
  const auto made = bundle_of(code->bytes, "a module");
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const auto found = find_code_object(*made, "gfx942", "b");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(ByteVector(found->bytes.begin(), found->bytes.end()), ByteVector(code->bytes.begin(), code->bytes.end()));
  EXPECT_EQ(find_code_object(*made, "gfx90a", "b").status().message(),
            "b: no device code that gfx90a runs (it holds code for gfx942): compile with --offload-arch");
  EXPECT_EQ(*bundle_of(bundle, "a module"), bundle) << "a bundle stays as it is";
}

TEST(CodeObject, InMemoryItIsAsLongAsItsHeadersSay) {
  const ByteVector bundle = read_file(MNEME_TEST_BUNDLE);
  ByteVector longer = bundle;
  longer.resize(longer.size() + 100);
  const auto found = code_object_at(longer.data());
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->size(), bundle.size());
  const auto code = find_code_object(bundle, "gfx90a", "b");
  const auto alone = code_object_at(code->bytes.data());
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_EQ(alone->size(), code->bytes.size());
  const ByteVector text = bytes_of("neither of the two, and long enough to be looked at");
  EXPECT_EQ(code_object_at(text.data()).status().message(),
            "a registered bundle: bundle offset 0: no bundle of code objects starts here (wrong magic)");
}

TEST(CodeObject, DamageIsAnError) {
  EXPECT_FALSE(read_code_symbols(make_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", bytes_of("no ELF file")}}), "m").ok());
  EXPECT_FALSE(bundle_of(bytes_of("\177ELF and no more"), "m").ok());
}

TEST(KeepKernel, OfACodeObjectLeavesOutOtherKernelsCodeAlone) {
  const ByteVector bundle = read_file(MNEME_TEST_BUNDLE);
  const auto code = find_code_object(bundle, "gfx90a", "b");
  ASSERT_TRUE(code.ok());
  const auto kept = keep_kernel(code->bytes, "_Z5clearPi", "x");
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  ASSERT_EQ(kept->size(), code->bytes.size());
  const auto code_of = [](ByteSpan bytes, const std::string& function) {
    const std::string name = "x";
    const auto elf = ElfView::open_any(bytes, name);
    ByteVector found;
    EXPECT_TRUE(elf->visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
                     const auto content = symbol_name == function ? elf->bytes_of(symbol) : Result<ByteSpan>(ByteSpan());
                     if (content.ok() && !content->empty()) found.assign(content->begin(), content->end());
                   })
                    .ok());
    return found;
  };
  EXPECT_EQ(code_of(*kept, "_Z5clearPi"), code_of(code->bytes, "_Z5clearPi"));
  const ByteVector other = code_of(code->bytes, "_Z3addPi4Pairi");
  EXPECT_NE(other, ByteVector(other.size()));
  EXPECT_EQ(code_of(*kept, "_Z3addPi4Pairi"), ByteVector(other.size()));
  EXPECT_EQ(read_code_object_symbols(*kept, "x")->kernels, read_code_object_symbols(code->bytes, "x")->kernels);
  EXPECT_FALSE(read_segments(code->bytes, "x")->segments.empty());
  EXPECT_TRUE(!read_segments(*kept, "x").ok() || read_segments(*kept, "x")->segments.empty()) << "Mneme's segments";
  EXPECT_EQ(keep_kernel(code->bytes, "counter", "x").status().to_string(), "not_found: x: the code object has no kernel counter");
  EXPECT_EQ(keep_kernel(code->bytes.first(100), "_Z5clearPi", "x").status().code(), Code::corrupt);
}

}  // namespace
}  // namespace mneme
