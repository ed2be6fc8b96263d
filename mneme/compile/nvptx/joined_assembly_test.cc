// Assembling several kernels in one call: what becomes of each, and when it is not done. Cubins are compared with what each
// kernel becomes alone. No GPU is needed.
#include "mneme/compile/nvptx/joined_assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/nvptx/compiler.h"
#include "mneme/compile/nvptx/joined_ptx.h"

namespace mneme::nvptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHead = ".version 8.8\n.target sm_90\n.address_size 64\n";

std::string kernel(int value, const std::string& body = "", const std::string& name = "fill") {
  return fmt::format(
      "{}.visible .entry {}(.param .u64 a)\n{{\n.reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<4>;\nld.param.u64 %rd1, [a];\n"
      "mov.u32 %r1, {};\n{}st.global.u32 [%rd1], %r1;\nret;\n}}\n",
      kHead, name, value, body);
}

TEST(LoneKernel, IsTakenApart) {
  const std::string text = "// a comment { with .global\n" + kernel(3);
  const auto lone = find_lone_kernel(text);
  ASSERT_TRUE(lone);
  EXPECT_EQ(lone->name, "fill");
  EXPECT_EQ(lone->version, "8.8");
  EXPECT_EQ(lone->target, "sm_90");
  EXPECT_EQ(lone->address_size, "64");
  EXPECT_EQ(join_ptx(std::vector{*lone, *lone}), std::string(kHead) + std::string(lone->before) + "mneme_joined_0" +
                                                     std::string(lone->after) + "\n" + std::string(lone->before) +
                                                     "mneme_joined_1" + std::string(lone->after) + "\n");
}

TEST(LoneKernel, MayHaveBoundsOfItsLaunchAndNoParameters) {
  EXPECT_TRUE(
      find_lone_kernel(std::string(kHead) + ".visible .entry k()\n.maxntid 64, 1, 1\n.minnctapersm 2\n.maxnreg 32\n{ ret; }"));
  EXPECT_TRUE(find_lone_kernel(std::string(kHead) + ".visible .entry k\n.reqntid 64\n{ ret; /* } */ }"));
}

TEST(LoneKernel, StandsAlone) {
  const std::string head(kHead), k = ".visible .entry k() { ret; }\n";
  for (const std::string& text : {
           head + ".global .u32 a;\n" + k,
           head + k + ".visible .const .u32 a = 1;\n",
           head + ".extern .shared .align 16 .b8 s[];\n" + k,
           head + ".shared .align 4 .b8 s[64];\n" + k,
           head + ".func f() { ret; }\n" + k,
           head + ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n" + k,
           head + ".file 1 \"a.cu\"\n" + k,
           head + k + ".section .debug_str { .b8 0 }\n",
           head + k + ".visible .entry other() { ret; }\n",
           head + ".entry k() { ret; }\n",
           head + ".weak .entry k() { ret; }\n",
           head + ".visible .entry k() .explicitcluster { ret; }\n",
           head + ".visible .entry k() { ret;\n",
           head + ".visible .func k() { ret; }\n",
           head + "x",
           head,
           std::string(".version 8.8\n.target sm_90, debug\n.address_size 64\n") + k,
           std::string(".target sm_90\n.version 8.8\n.address_size 64\n") + k,
           std::string(),
       })
    EXPECT_FALSE(find_lone_kernel(text)) << text;
}

TEST(LoneKernel, IsJoinedWithOthersOfItsTargetAndVersion) {
  const auto lone = [](const std::string& text) { return *find_lone_kernel(text); };
  const std::string other_version = ".version 8.0\n" + kernel(1).substr(kernel(1).find(".target"));
  const std::string text = kernel(1), another = kernel(2);
  EXPECT_TRUE(can_be_joined(lone(text), lone(another)));
  EXPECT_FALSE(can_be_joined(lone(text), lone(other_version)));
}

// Has every call told, and what the other makes of it changed where a test says so.
class WatchedAssembler final : public PtxAssembler {
 public:
  explicit WatchedAssembler(PtxAssembler& other) : other_(other) {}
  std::string_view name() const override { return other_.name(); }
  std::string identity() const override { return other_.identity(); }
  Result<Assembled> assemble(const AssembleRequest& request) override {
    size_t kernels = 0;
    for (size_t at = 0; (at = request.ptx.find(".entry", at)) != std::string::npos; ++at) ++kernels;
    calls.push_back(kernels);
    auto assembled = other_.assemble(request);
    if (assembled.ok() && kernels > 1 && change) change(*assembled);
    return assembled;
  }

  std::vector<size_t> calls;  // how many kernels each had
  std::function<void(Assembled&)> change;

 private:
  PtxAssembler& other_;
};

class JoinedAssemblyTest : public testing::Test {
 protected:
  void SetUp() override {
    AssemblerSearch search = AssemblerSearch::from_environment();
    search.only = "nvptxcompiler";
    auto found = find_assembler(search);
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    real_ = std::move(*found);
    watched_ = std::make_unique<WatchedAssembler>(*real_);
    joined_ = std::make_unique<JoinedAssembly>(*watched_);
  }

  static AssembleRequest request(const std::string& ptx, const AssemblerOptions& options = {}) {
    return {ptx, "sm_90", LineInfo::leave_out, options};
  }
  // Assembles them, and compares each with what it is alone: files, logs and failures. Returns how many kernels each call had.
  std::vector<size_t> assemble(const std::vector<AssembleRequest>& requests) {
    watched_->calls.clear();
    const auto all = joined_->assemble(requests);
    EXPECT_EQ(all.size(), requests.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto alone = real_->assemble(requests[i]);
      EXPECT_EQ(all[i].status().to_string(), alone.status().to_string());
      if (!all[i].ok() || !alone.ok()) continue;
      EXPECT_EQ(all[i]->image.bytes, alone->image.bytes) << i;
      EXPECT_EQ(without_times(all[i]->log), without_times(alone->log));
    }
    return watched_->calls;
  }
  static std::string without_times(const std::string& log) {
    std::string text;
    for (size_t begin = 0; begin < log.size();) {
      const size_t end = std::min(log.find('\n', begin), log.size());
      const std::string line = log.substr(begin, end - begin);
      if (line.find("Compile time") == std::string::npos) text += line + "\n";
      begin = end + 1;
    }
    return text;
  }

  std::unique_ptr<PtxAssembler> real_;
  std::unique_ptr<WatchedAssembler> watched_;
  std::unique_ptr<JoinedAssembly> joined_;
};

TEST_F(JoinedAssemblyTest, TheFirstIsAssembledAloneAndOnceMoreWithTheOthers) {
  EXPECT_THAT(assemble({request(kernel(1)), request(kernel(2)), request(kernel(3)), request(kernel(4))}), ElementsAre(1, 4));
  EXPECT_THAT(assemble({request(kernel(5)), request(kernel(6))}), ElementsAre(2));
}

TEST_F(JoinedAssemblyTest, WhatIsAloneIsAssembledAlone) {
  EXPECT_THAT(assemble({request(kernel(1))}), ElementsAre(1));
  EXPECT_THAT(assemble({}), ElementsAre());
}

TEST_F(JoinedAssemblyTest, EachSetOfOptionsIsAssembledForItself) {
  const AssemblerOptions capped{.max_registers = 32};
  assemble({request(kernel(1)), request(kernel(2)), request(kernel(3))});
  EXPECT_THAT(assemble({request(kernel(1)), request(kernel(2), capped), request(kernel(3)), request(kernel(4), capped)}),
              ElementsAre(2, 2));
}

TEST_F(JoinedAssemblyTest, KernelsOfOtherNamesAreAssembledForThemselves) {
  EXPECT_THAT(
      assemble({request(kernel(1)), request(kernel(1, "", "other")), request(kernel(2)), request(kernel(2, "", "other"))}),
      ElementsAre(1, 1, 1, 1));
}

TEST_F(JoinedAssemblyTest, AKernelThatIsWrongFailsAlone) {
  assemble({request(kernel(1)), request(kernel(2)), request(kernel(3))});
  EXPECT_THAT(assemble({request(kernel(1)), request(kernel(2, "bad.instruction %r1;\n")), request(kernel(3))}),
              ElementsAre(3, 1, 1, 1));
  EXPECT_THAT(assemble({request(kernel(4)), request(kernel(5))}), ElementsAre(2));
}

TEST_F(JoinedAssemblyTest, AFirstKernelThatIsWrongIsNoPattern) {
  EXPECT_THAT(assemble({request(kernel(2, "bad.instruction %r1;\n")), request(kernel(1)), request(kernel(3))}),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(assemble({request(kernel(1)), request(kernel(3)), request(kernel(4))}), ElementsAre(1, 3));
}

TEST_F(JoinedAssemblyTest, WhatTheAssemblerWarnsOfIsAssembledAlone) {
  const AssemblerOptions ignored{.max_registers = 4};
  EXPECT_THAT(assemble({request(kernel(1), ignored), request(kernel(2), ignored), request(kernel(3), ignored)}),
              ElementsAre(1, 3, 1, 1));
}

TEST_F(JoinedAssemblyTest, LongKernelsAndThoseWithLinesAreAssembledAlone) {
  std::string body;
  while (body.size() < JoinedAssembly::kLongest) body += "add.u32 %r1, %r1, 1;\n";
  EXPECT_THAT(assemble({request(kernel(1, body)), request(kernel(2, body))}), ElementsAre(1, 1));
  AssembleRequest with_lines = request(kernel(1));
  with_lines.lines = LineInfo::keep;
  EXPECT_THAT(assemble({with_lines, with_lines, with_lines}), ElementsAre(1, 1, 1));
}

TEST_F(JoinedAssemblyTest, MoreThanTheMostAreTwoCalls) {
  std::vector<AssembleRequest> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(request(kernel(i)));
  EXPECT_THAT(assemble(requests), ElementsAre(1, 8, 4));
}

// Code that is not what it is alone is not taken, and nothing of the name is assembled together any more.
TEST_F(JoinedAssemblyTest, WhatBecomesOtherCodeTogetherIsAssembledAlone) {
  watched_->change = [](Assembled& assembled) {
    // The last byte of each instruction's text is changed by a joined assembly, as a place in a constant bank would be.
    for (size_t at = assembled.image.bytes.size() / 3; at < assembled.image.bytes.size() / 3 * 2; ++at)
      if (assembled.image.bytes[at] == std::byte{0x01}) assembled.image.bytes[at] = std::byte{0x02};
  };
  EXPECT_THAT(assemble({request(kernel(1)), request(kernel(2)), request(kernel(3))}), ElementsAre(1, 3, 1, 1));
  EXPECT_THAT(assemble({request(kernel(4)), request(kernel(5)), request(kernel(6))}), ElementsAre(1, 1, 1));
}

TEST_F(JoinedAssemblyTest, ACompilerTellsTheFactsOfEach) {
  AssemblerSearch search = AssemblerSearch::from_environment();
  search.only = "nvptxcompiler";
  auto compiler = create_compiler("sm_90", search);
  ASSERT_TRUE(compiler.ok()) << compiler.status().to_string();
  std::vector<Translation> translations;
  for (int i = 0; i < 4; ++i) {
    Translation& one = translations.emplace_back();
    std::string body;
    for (int k = 0; k < 10 * i; ++k) body += fmt::format("ld.global.u32 %r2, [%rd1+{}];\nadd.u32 %r1, %r1, %r2;\n", 4 * k);
    one.code = kernel(i, body);
    one.architecture = "sm_90";
    one.kernels = {"fill"};
    one.times = {{"codegen", Nanoseconds(5)}};
  }
  const auto all = (*compiler)->assemble_all(translations);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i].ok()) << all[i].status().to_string();
    auto alone = (*compiler)->assemble(translations[i]);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(all[i]->digest, alone->digest);
    EXPECT_EQ(all[i]->translation_digest, alone->translation_digest);
    EXPECT_EQ(all[i]->facts.registers, alone->facts.registers);
    EXPECT_EQ(all[i]->facts.instructions, alone->facts.instructions);
    EXPECT_EQ(all[i]->facts.stack_frame, alone->facts.stack_frame);
    EXPECT_EQ(all[i]->facts.spill_loads, alone->facts.spill_loads);
    ASSERT_EQ(all[i]->times.size(), 2u);
    EXPECT_EQ(all[i]->times[1].stage, "assemble");
  }
}

}  // namespace
}  // namespace mneme::nvptx
