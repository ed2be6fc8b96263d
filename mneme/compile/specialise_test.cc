#include "mneme/compile/specialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/Verifier.h>

#include "mneme/compile/pipeline.h"
#include "mneme/ir/access.h"

namespace mneme {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

ir::Module parse(std::string_view body) {
  const std::string text =
      "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
      "target triple = \"nvptx64-nvidia-cuda\"\n" +
      std::string(body);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

template <typename... T>
ByteVector bytes(T... values) {
  ByteVector result;
  const auto add = [&](auto value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    result.insert(result.end(), raw.begin(), raw.end());
  };
  (add(values), ...);
  return result;
}

Specialisation with_argument(unsigned parameter, ByteVector value) {
  Specialisation s{.kernel = "k"};
  s.arguments.push_back({parameter, std::move(value)});
  return s;
}

// The module after specialisation and a pipeline, printed.
Result<std::string> specialised(std::string_view body, const Specialisation& specialisation,
                                const std::string& passes = "default<O2>", const std::string& architecture = "sm_90") {
  ir::Module module = parse(body);
  llvm::Module& llvm_module = ir::llvm_module(module);
  MNEME_TRY(specialise(llvm_module, specialisation, architecture));
  MNEME_TRY(module.verify());
  MNEME_ASSIGN(auto machine, create_target_machine(llvm_module, {.cpu = "sm_90", .features = ""}));
  MNEME_TRY(run_pipeline(llvm_module, *machine, passes));
  return module.print();
}

std::string made(std::string_view body, const Specialisation& specialisation, const std::string& passes = "default<O2>") {
  auto text = specialised(body, specialisation, passes);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

std::string refusal(std::string_view body, const Specialisation& specialisation, const std::string& architecture = "sm_90") {
  return specialised(body, specialisation, "default<O0>", architecture).status().to_string();
}

TEST(Specialise, ScalarArgumentsBecomeConstants) {
  struct {
    const char* type;
    ByteVector value;
    const char* constant;
  } cases[] = {{"i1", bytes(uint8_t{1}), "i1 true"},
               {"i8", bytes(int8_t{-5}), "i8 -5"},
               {"i16", bytes(int16_t{-300}), "i16 -300"},
               {"i32", bytes(int32_t{70000}), "i32 70000"},
               {"i64", bytes(int64_t{1} << 40), "i64 1099511627776"},
               {"i24", bytes(uint8_t{1}, uint8_t{0}, uint8_t{1}, uint8_t{0}), "i24 65537"},
               {"i128", bytes(uint64_t{7}, uint64_t{1}), "i128 18446744073709551623"},
               {"half", bytes(uint16_t{0x3e00}), "half 0xH3E00"},
               {"bfloat", bytes(uint16_t{0x3fc0}), "bfloat 0xR3FC0"},
               {"float", bytes(1.5f), "float 1.500000e+00"},
               {"double", bytes(-0.25), "double -2.500000e-01"},
               {"<2 x float>", bytes(1.0f, 2.0f), "<2 x float> <float 1.000000e+00, float 2.000000e+00>"},
               {"[2 x i32]", bytes(3, 4), "[2 x i32] [i32 3, i32 4]"},
               {"{ i8, i32 }", bytes(int8_t{3}, int8_t{0}, int16_t{0}, 9), "{ i8, i32 } { i8 3, i32 9 }"}};
  for (const auto& [type, value, constant] : cases) {
    const std::string body =
        fmt::format("define ptx_kernel void @k(ptr %out, {0} %x) {{ store {0} %x, ptr %out ret void }}", type);
    EXPECT_THAT(made(body, with_argument(1, value), "default<O0>"), HasSubstr(fmt::format("store {}, ptr %out", constant)))
        << type;
  }
}

TEST(Specialise, PointerArgumentsBecomeGlobalAddresses) {
  const char* body = "define ptx_kernel void @k(ptr %out, ptr %x) { store ptr %x, ptr %out store i32 1, ptr %x ret void }";
  const std::string text = made(body, with_argument(1, bytes(uint64_t{0x7a0000000200})), "infer-address-spaces");
  EXPECT_THAT(text, HasSubstr("store i32 1, ptr addrspace(1) inttoptr (i64 134140418589184 to ptr addrspace(1))"));
  EXPECT_THAT(made(body, with_argument(1, bytes(uint64_t{0})), "default<O0>"), HasSubstr("store ptr null, ptr %out"));
}

constexpr std::string_view kStructure = R"(
%s = type { ptr, [3 x i32], double }
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %out, ptr byval(%s) align 8 %s) {
  %second = getelementptr %s, ptr %s, i32 0, i32 1, i32 1
  %old = load i32, ptr %second
  store i32 %old, ptr %out
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %second
  %own = load i32, ptr %second
  %to = getelementptr i32, ptr %out, i32 1
  store i32 %own, ptr %to
  %p = load ptr, ptr %s
  %at = getelementptr %s, ptr %s, i32 0, i32 2
  %d = load double, ptr %at
  store double %d, ptr %p
  ret void
}
)";

TEST(Specialise, StructuresByValueBecomeConstantsThatEachThreadMayChange) {
  const ByteVector value = bytes(uint64_t{0x7a0000000000}, 1, 22, 3, 0, 0.5);
  const std::string text = made(kStructure, with_argument(1, value));
  EXPECT_THAT(text, HasSubstr("store i32 22, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store i32 %tid"));
  EXPECT_THAT(text, ContainsRegex("store double 5.000000e-01, ptr addrspacecast \\(ptr addrspace\\(1\\) inttoptr"));
  EXPECT_THAT(text, Not(HasSubstr("alloca")));
}

TEST(Specialise, WhatNobodyMayWriteToIsTheConstantItself) {
  const std::string body = R"(
%s = type { [4 x i32] }
define ptx_kernel void @k(ptr %out, i32 %i, ptr byval(%s) align 4 "nvvm.grid_constant" %s) {
  %at = getelementptr %s, ptr %s, i32 0, i32 0, i32 %i
  %v = load i32, ptr %at
  store i32 %v, ptr %out
  ret void
}
)";
  const std::string text = made(body, with_argument(2, bytes(1, 2, 3, 4)), "default<O0>");
  EXPECT_THAT(text, Not(HasSubstr("alloca")));
  EXPECT_THAT(text,
              HasSubstr("getelementptr %s, ptr addrspacecast (ptr addrspace(4) @k.argument.2 to ptr), i32 0, i32 0, i32 %i"));
}

// The type that stands for a union may have padding where another member has its bytes.
TEST(Specialise, BytesInPaddingAreKept) {
  const std::string body = R"(
%u = type { { i8, i32 } }
define ptx_kernel void @k(ptr %out, ptr byval(%u) align 4 %u) {
  %v = load i32, ptr %u
  store i32 %v, ptr %out
  ret void
}
)";
  EXPECT_THAT(made(body, with_argument(1, bytes(0x01020304, 5))), HasSubstr("store i32 16909060, ptr %out"));
}

constexpr std::string_view kReads = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
define internal i32 @width() noinline {
  %w = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  ret i32 %w
}
define ptx_kernel void @k(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %w = call i32 @width()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  store volatile i32 %x, ptr %out
  store volatile i32 %y, ptr %out
  store volatile i32 %w, ptr %out
  store volatile i32 %g, ptr %out
  %below = icmp ult i32 %x, 96
  %bit = zext i1 %below to i32
  store volatile i32 %bit, ptr %out
  ret void
}
)";
constexpr LaunchDimensions kDimensions{{10, 1, 7}, {96, 1, 1}};

TEST(Specialise, DimensionsBecomeConstantsInEveryFunction) {
  const std::string text = made(kReads, {.kernel = "k", .dimensions = kDimensions}, "ipsccp");
  EXPECT_THAT(text, HasSubstr("store volatile i32 %x, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store volatile i32 0, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store volatile i32 96, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store volatile i32 7, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store volatile i32 %bit, ptr %out"));
}

// A launch that is longer than one in one axis only: there, and only there, an index says something.
TEST(Specialise, AnIndexIsZeroOnlyWhereThereIsOne) {
  const char* registers[] = {"ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z"};
  std::string declarations, body;
  for (int i = 0; i < 6; ++i) {
    declarations += fmt::format("declare i32 @llvm.nvvm.read.ptx.sreg.{}()\n", registers[i]);
    body +=
        fmt::format("  %v{} = call i32 @llvm.nvvm.read.ptx.sreg.{}()\n  store volatile i32 %v{}, ptr %out\n", i, registers[i], i);
  }
  const std::string kernel = declarations + "define ptx_kernel void @k(ptr %out) {\n" + body + "  ret void\n}\n";
  for (int longer = 0; longer < 6; ++longer) {
    LaunchDimensions dimensions{{1, 1, 1}, {1, 1, 1}};
    uint32_t* extents[] = {&dimensions.grid.x,  &dimensions.grid.y,  &dimensions.grid.z,
                           &dimensions.block.x, &dimensions.block.y, &dimensions.block.z};
    *extents[longer] = 2;
    const std::string text = made(kernel, {.kernel = "k", .dimensions = dimensions}, "ipsccp");
    for (int i = 0; i < 6; ++i) {
      const std::string store = fmt::format("store volatile i32 %v{}, ptr %out", i);
      EXPECT_EQ(text.find(store) != std::string::npos, i == longer)
          << registers[i] << " where " << registers[longer] << " has two";
    }
  }
}

// And every extent is that of its own axis.
TEST(Specialise, AnExtentIsThatOfItsAxis) {
  const char* registers[] = {"nctaid.x", "nctaid.y", "nctaid.z", "ntid.x", "ntid.y", "ntid.z"};
  const LaunchDimensions dimensions{{11, 12, 13}, {2, 3, 5}};
  const uint32_t extents[] = {11, 12, 13, 2, 3, 5};
  for (int i = 0; i < 6; ++i) {
    const std::string kernel = fmt::format(
        "declare i32 @llvm.nvvm.read.ptx.sreg.{}()\ndefine ptx_kernel void @k(ptr %out) {{\n  %v = call i32 "
        "@llvm.nvvm.read.ptx.sreg.{}()\n  store volatile i32 %v, ptr %out\n  ret void\n}}\n",
        registers[i], registers[i]);
    EXPECT_THAT(made(kernel, {.kernel = "k", .dimensions = dimensions}, "ipsccp"),
                HasSubstr(fmt::format("store volatile i32 {}, ptr %out", extents[i])));
    EXPECT_THAT(made(kernel, {.kernel = "k", .ranges = dimensions}, "ipsccp"),
                HasSubstr(fmt::format("call range(i32 1, {})", extents[i] + 1)));
  }
}

TEST(Specialise, IndicesAndDimensionsGetRanges) {
  const std::string text = made(kReads, {.kernel = "k", .ranges = kDimensions});
  EXPECT_THAT(text, ContainsRegex("%x = .*call range\\(i32 0, 96\\) i32 @llvm.nvvm.read.ptx.sreg.tid.x"));
  EXPECT_THAT(text, ContainsRegex("= .*call range\\(i32 1, 97\\) i32 @llvm.nvvm.read.ptx.sreg.ntid.x"));
  EXPECT_THAT(text, ContainsRegex("%g = .*call range\\(i32 1, 8\\) i32 @llvm.nvvm.read.ptx.sreg.nctaid.z"));
  EXPECT_THAT(text, HasSubstr("store volatile i32 1, ptr %out")) << "the comparison with the block's extent is decided";
}

TEST(Specialise, PointerFactsBecomeAttributes) {
  Specialisation s{.kernel = "k"};
  s.pointers = {{0, 256, true}, {1, 4, false}};
  EXPECT_THAT(made("define ptx_kernel void @k(ptr %a, ptr align 16 %b) { store i32 0, ptr %a store i32 0, ptr %b ret void }", s,
                   "default<O0>"),
              HasSubstr("@k(ptr noalias align 256 %a, ptr align 16 %b)"));
}

TEST(Specialise, LaunchBoundsReplaceThoseOfTheKernel) {
  Specialisation s{.kernel = "k"};
  s.bounds = {.max_threads = 128, .min_blocks = 4, .max_cluster = 2, .max_registers = 40};
  const std::string text = made(
      "define ptx_kernel void @k() #0 { ret void }\n"
      "attributes #0 = { \"nvvm.reqntid\"=\"64\" \"nvvm.minctasm\"=\"1\" }",
      s, "default<O0>");
  EXPECT_THAT(
      text,
      HasSubstr("{ \"nvvm.maxclusterrank\"=\"2\" \"nvvm.maxnreg\"=\"40\" \"nvvm.maxntid\"=\"128\" \"nvvm.minctasm\"=\"4\" }"));
}

TEST(Specialise, NothingIsChangedWhereNoKernelIsNamed) {
  ir::Module module = parse(kReads);
  const std::string before = module.print();
  ASSERT_TRUE(specialise(ir::llvm_module(module), {}, {}).ok());
  EXPECT_EQ(module.print(), before);
}

TEST(Specialise, RefusesWhatCannotBe) {
  const char* kernel = "define ptx_kernel void @k(i32 %n, target(\"spirv.Image\") %t, <9 x i1> %v) { ret void }";
  EXPECT_EQ(refusal(kernel, {.kernel = "other"}), "not_found: specialising 'other': test.ll does not define it");
  EXPECT_EQ(refusal(kernel, with_argument(3, bytes(1))),
            "invalid_argument: specialising parameter 3 of 'k': it has 3 parameters");
  EXPECT_EQ(refusal(kernel, with_argument(0, bytes(int16_t{1}))),
            "invalid_argument: specialising parameter 0 of 'k': it has 4 bytes, and its value 2");
  EXPECT_EQ(refusal(kernel, with_argument(2, bytes(int16_t{1}))),
            "unsupported: specialising parameter 2 of 'k': there is no constant of type <9 x i1>");
  Specialisation facts{.kernel = "k"};
  facts.pointers = {{0, 16, true}};
  EXPECT_EQ(refusal(kernel, facts), "invalid_argument: specialising parameter 0 of 'k': it is no pointer");
  EXPECT_EQ(refusal("define ptx_kernel void @k() { call ptx_kernel void @child() ret void }\n"
                    "define ptx_kernel void @child() { ret void }",
                    {.kernel = "k", .dimensions = kDimensions}),
            "unsupported: specialising the dimensions of 'k': it refers to the kernel 'child', which has others");
}

TEST(Specialise, RefusesBoundsWithoutEffect) {
  const char* kernel = "define ptx_kernel void @k() { ret void }";
  Specialisation s{.kernel = "k"};
  s.bounds.min_blocks = 2;
  EXPECT_EQ(refusal(kernel, s),
            "invalid_argument: specialise.min_blocks has an effect only with a bound of a block's threads, which 'k' has not: "
            "give specialise.max_threads too");
  s.bounds = {.max_cluster = 8};
  EXPECT_EQ(refusal(kernel, s, "sm_80"), "unsupported: specialise.max_cluster has no effect on sm_80: clusters came with sm_90");
  EXPECT_EQ(refusal("define ptx_kernel void @k() \"nvvm.cluster_dim\"=\"2,1,1\" { ret void }", s),
            "incompatible: specialise.max_cluster: 'k' has a cluster size of its own, 2,1,1");
}

TEST(Specialise, AValueAndThePlaceOfItsElementsAreAsLongAsTheirTypes) {
  const char* kernel = "define ptx_kernel void @k(ptr %out, i32 %n) { store i32 %n, ptr %out ret void }";
  EXPECT_EQ(refusal(kernel, with_argument(1, bytes(1, 2))),
            "invalid_argument: specialising parameter 1 of 'k': it has 4 bytes, and its value 8");
  const auto constant = [](const char* type, const ByteVector& value) {
    return made(fmt::format("define ptx_kernel void @k(ptr %out, {0} %x) {{ store {0} %x, ptr %out ret void }}", type),
                with_argument(1, value), "default<O0>");
  };
  EXPECT_THAT(constant("[2 x i24]", bytes(0x00010203, 0x00040506)), HasSubstr("[2 x i24] [i24 66051, i24 263430]"));
  EXPECT_THAT(constant("{ i32, [0 x i32] }", bytes(7)), HasSubstr("{ i32, [0 x i32] } { i32 7, [0 x i32] zeroinitializer }"));
}

TEST(Specialise, PointersOfStructuresInStructuresAreAddressesOfGlobalMemory) {
  const std::string body = R"(
%inner = type { i64, ptr }
%s = type { i64, [2 x %inner] }
define ptx_kernel void @k(ptr byval(%s) align 8 %s) {
  %one = getelementptr %s, ptr %s, i32 0, i32 1, i32 0, i32 1
  %p = load ptr, ptr %one
  store i32 1, ptr %p
  %other = getelementptr %s, ptr %s, i32 0, i32 1, i32 1, i32 1
  %q = load ptr, ptr %other
  store i32 2, ptr %q
  ret void
}
)";
  const std::string text = made(
      body, with_argument(0, bytes(uint64_t{1}, uint64_t{2}, uint64_t{0x7a0000000000}, uint64_t{3}, uint64_t{0x7b0000000000})));
  EXPECT_THAT(text, HasSubstr("store i32 1, ptr addrspacecast (ptr addrspace(1) inttoptr (i64 134140418588672 to"));
  EXPECT_THAT(text, HasSubstr("store i32 2, ptr addrspacecast (ptr addrspace(1) inttoptr (i64 135239930216448 to"));
}

TEST(Specialise, AStructureKeepsTheAlignmentThatItsParameterHas) {
  const std::string text =
      made("define ptx_kernel void @k(ptr %out, ptr byval({ i32, i32 }) align 32 %s) { store ptr %s, ptr %out ret void }",
           with_argument(1, bytes(1, 2)), "default<O0>");
  EXPECT_THAT(text, ContainsRegex("alloca [^\n]*align 32"));
  EXPECT_THAT(text, ContainsRegex("@k.argument.1 = [^\n]*align 32"));
}

TEST(Specialise, FactsAreOfPointersAndRangesOfOneKernel) {
  Specialisation facts{.kernel = "k"};
  facts.pointers = {{0, 16, true}};
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr byval({ i32 }) align 4 %s) { ret void }", facts),
            "invalid_argument: specialising parameter 0 of 'k': it is no pointer");
  EXPECT_EQ(refusal("define ptx_kernel void @k() { call ptx_kernel void @child() ret void }\n"
                    "define ptx_kernel void @child() { ret void }",
                    {.kernel = "k", .ranges = kDimensions}),
            "unsupported: specialising the dimensions of 'k': it refers to the kernel 'child', which has others");
}

TEST(Specialise, BlocksCanBeBoundWhereThreadsAreRequired) {
  Specialisation s{.kernel = "k"};
  s.bounds.min_blocks = 2;
  EXPECT_THAT(made("define ptx_kernel void @k() \"nvvm.reqntid\"=\"64\" { ret void }", s, "default<O0>"),
              HasSubstr("\"nvvm.minctasm\"=\"2\""));
}

TEST(Specialise, AStructureByReferenceIsTheConstantItself) {
  const std::string text =
      made("define ptx_kernel void @k(ptr %out, ptr byref({ i32, i32 }) align 4 %s) { store ptr %s, ptr %out ret void }",
           with_argument(1, bytes(1, 2)), "default<O0>");
  EXPECT_THAT(text, HasSubstr("@k.argument.1"));
  EXPECT_THAT(text, Not(HasSubstr("alloca")));
}

}  // namespace
}  // namespace mneme
