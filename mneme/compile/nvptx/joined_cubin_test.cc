// Kernels that are assembled together and taken apart again are what they are alone, to the byte. No GPU is needed.
#include "mneme/compile/nvptx/joined_cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/compile/nvptx/joined_ptx.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = ".version 8.8\n.target sm_90\n.address_size 64\n";

// Adds up `count` values, which takes as many registers.
std::string sum(int count, const std::string& name = "sum", const std::string& launch = "") {
  std::string text = std::string(kHead) + ".visible .entry " + name + "(.param .u64 a, .param .u64 b)\n" + launch +
                     "{\n.reg .b64 %rd<8>; .reg .f32 %f<128>; .reg .b32 %r<4>;\n"
                     "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
                     "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.f32 %f127, 0f00000000;\n";
  for (int i = 0; i < count; ++i) text += fmt::format("ld.global.f32 %f{}, [%rd4+{}];\n", i, 128 * i);
  for (int i = 0; i < count; ++i) text += fmt::format("fma.rn.f32 %f127, %f127, %f{}, %f{};\n", i, 7 * i % count);
  for (int i = 0; i < count; ++i) text += fmt::format("st.global.f32 [%rd5+{}], %f{};\n", 128 * i, i);
  return text + "st.global.f32 [%rd5], %f127;\nret;\n}\n";
}

class JoinedCubin : public testing::Test {
 protected:
  void SetUp() override {
    AssemblerSearch search = AssemblerSearch::from_environment();
    search.only = "nvptxcompiler";
    auto found = find_assembler(search);
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    assembler_ = std::move(*found);
  }

  ByteVector assemble(const std::string& ptx, const AssemblerOptions& options = {}) {
    auto assembled = assembler_->assemble({ptx, "sm_90", LineInfo::leave_out, options});
    EXPECT_TRUE(assembled.ok()) << assembled.status().to_string();
    return assembled.ok() ? assembled->image.bytes : ByteVector();
  }

  ByteVector assemble_joined(const std::vector<std::string>& texts, const AssemblerOptions& options = {}) {
    std::vector<LoneKernel> kernels;
    for (const std::string& text : texts) kernels.push_back(find_lone_kernel(text).value());
    return assemble(join_ptx(kernels), options);
  }

  // Joins the texts, and compares each part with what the assembler makes of it alone; each is once what another is taken like.
  void expect_the_same(const std::vector<std::string>& texts, const AssemblerOptions& options = {}) {
    const ByteVector joined = assemble_joined(texts, options);
    const std::string name(find_lone_kernel(texts[0])->name);
    for (const std::string& pattern : texts) {
      const ByteVector like = assemble(pattern);
      for (size_t i = 0; i < texts.size(); ++i) {
        auto taken = take_kernel(joined, joined_name(i), like, name);
        ASSERT_TRUE(taken.ok()) << taken.status().to_string();
        EXPECT_EQ(*taken, assemble(texts[i], options)) << i;
      }
    }
  }

  std::unique_ptr<PtxAssembler> assembler_;
};

TEST_F(JoinedCubin, EachKernelIsWhatItIsAlone) { expect_the_same({sum(1), sum(48), sum(7), sum(1), sum(90)}); }

TEST_F(JoinedCubin, AsWithOptionsThatMakeItSpill) { expect_the_same({sum(60), sum(48), sum(2)}, {.max_registers = 32}); }

TEST_F(JoinedCubin, AsWithoutOptimisation) { expect_the_same({sum(60), sum(2)}, {.level = 0}); }

TEST_F(JoinedCubin, AsWithBoundsOfTheLaunch) {
  expect_the_same({sum(60, "sum", ".maxntid 128\n"), sum(60, "sum", ".maxntid 256, 1, 1\n.minnctapersm 2\n"),
                   sum(60, "sum", ".reqntid 64, 1, 1\n"), sum(60)});
}

TEST_F(JoinedCubin, WhateverItsNameIs) { expect_the_same({sum(3, "_Z3sumPfPKf"), sum(5, "_Z3sumPfPKf")}); }

// What a kernel reaches beside its parameters has places in constant banks that depend on what else is in the file: such a
// kernel's code differs by its place in a joined file, and its file has other sections.
TEST_F(JoinedCubin, AnUnknownSectionIsRefused) {
  const std::string with_variable = std::string(kHead) + ".global .u32 table[4] = {1, 2, 3, 4};\n" +
                                    std::string(sum(3)).substr(std::string(kHead).size()) +
                                    ".visible .entry other(.param .u64 a) {\n.reg .b64 %rd<4>; .reg .b32 %r<4>;\nmov.u64 %rd1, "
                                    "table;\nld.param.u64 %rd2, [a];\nst.global.u64 [%rd2], %rd1;\nret;\n}\n";
  auto taken = take_kernel(assemble(with_variable), "sum", assemble(sum(3)), "sum");
  EXPECT_EQ(taken.status().code(), Code::unsupported);
  EXPECT_THAT(taken.status().message(), HasSubstr("it is not known how .rela.nv.constant4 would be alone"));
}

TEST_F(JoinedCubin, AKernelThatIsNotThereIsRefused) {
  auto taken = take_kernel(assemble_joined({sum(2), sum(3)}), "sum", assemble(sum(3)), "sum");
  EXPECT_EQ(taken.status().to_string(),
            "unsupported: taking a kernel out of a cubin: it is not known how .nv.info.sum would be alone");
}

TEST_F(JoinedCubin, WhatIsNoCubinIsRefused) {
  const ByteVector cubin = assemble(sum(2));
  EXPECT_EQ(take_kernel(ByteVector(100), "sum", cubin, "sum").status().code(), Code::corrupt);
  EXPECT_EQ(take_kernel(cubin, "sum", ByteVector(100), "sum").status().code(), Code::corrupt);
}

// MNEME_PTX_FOLDER names a folder of PTX of kernels, of which those are compared whose names begin alike up to a dot:
// "add.O1.ptx", "add.O3.ptx". Some hundred kernels of a public suite were compared so.
TEST_F(JoinedCubin, OfAFolderToo) {
  const char* folder = std::getenv("MNEME_PTX_FOLDER");
  if (!folder) GTEST_SKIP() << "MNEME_PTX_FOLDER is not set";
  std::map<std::string, std::vector<std::string>> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto bytes = FileSystem::posix().read(entry.path());
    ASSERT_TRUE(bytes.ok());
    std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (find_lone_kernel(text)) kernels[entry.path().stem().stem().string()].push_back(std::move(text));
  }
  size_t same = 0, refused = 0;
  for (const auto& [name, texts] : kernels) {
    const std::string kernel(find_lone_kernel(texts[0])->name);
    const ByteVector joined = assemble_joined(texts), like = assemble(texts[0]);
    for (size_t i = 0; i < texts.size(); ++i) {
      auto taken = take_kernel(joined, joined_name(i), like, kernel);
      if (taken.ok()) EXPECT_EQ(*taken, assemble(texts[i])) << name;
      if (!taken.ok()) fmt::print("{}: {}\n", name, taken.status().message());
      ++(taken.ok() ? same : refused);
    }
  }
  fmt::print("{} kernels: {} codes compared, {} refused\n", kernels.size(), same, refused);
}

}  // namespace
}  // namespace mneme::nvptx
