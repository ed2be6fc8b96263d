// Code objects of all kernels of testing/kernels.hip: made, read back, disassembled, and compared with what LLVM's own tools say.
#include "mneme/compile/amdgpu/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "mneme/compile/amdgpu/testing/amdgcn_ir.h"
#include "mneme/compile/prepare.h"

namespace mneme::amdgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

bool have_libraries() { return FileSystem::posix().exists("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc"); }

CompileOptions options_for(const std::string& kernel, const std::string& passes = "default<O2>") {
  CompileOptions options;
  options.passes = passes;
  options.kernels = {kernel};
  return options;
}

// The scalars of the kernel in the YAML that llvm-readelf prints, by key. There is one kernel in the object.
std::map<std::string, std::string> metadata_of(const std::string& text) {
  std::map<std::string, std::string> values;
  const std::regex line(R"(^\s+(?:- )?(\.\w+):\s+(\S+)$)");
  std::istringstream stream(text.substr(text.find("amdhsa.kernels")));
  for (std::string one; std::getline(stream, one);) {
    std::smatch match;
    if (std::regex_match(one, match, line)) values[match[1]] = match[2];
  }
  return values;
}

uint64_t instructions_in(const std::string& disassembly) {
  uint64_t count = 0;
  std::istringstream stream(disassembly);
  for (std::string one; std::getline(stream, one);) count += one.starts_with("\t");
  return count;
}

class CodeObjects : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(CodeObjects, SayWhatLlvmsToolsSayOfThem) {
  const auto [architecture, kernel] = GetParam();
  if (kernel == std::string("mathematics") && !have_libraries()) GTEST_SKIP() << "ROCm's device libraries are not installed";
  const auto tool = compiler(architecture);
  const auto code = tool->compile(kernels_for(architecture), options_for(kernel));
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(code->image.device, DeviceKind::hip);
  EXPECT_EQ(code->assembler, "lld");

  const auto object = read_code_object(code->image.bytes);
  ASSERT_TRUE(object.ok()) << object.status().to_string();
  EXPECT_EQ(object->target, architecture);
  ASSERT_EQ(object->kernels.size(), 1u) << "no other kernel is in it";
  const KernelEntry& entry = object->kernels[0];
  EXPECT_EQ(entry.name, kernel);

  const auto said = metadata_of(said_by("llvm-readelf --notes", code->image.bytes));
  const auto expect = [&](const char* key, uint64_t value) {
    ASSERT_TRUE(said.contains(key)) << key;
    EXPECT_EQ(said.at(key), std::to_string(value)) << key;
  };
  expect(".vgpr_count", entry.vector_registers);
  if (architecture == std::string("gfx1100"))
    EXPECT_EQ(entry.accumulation_registers, 0u) << "it has none";
  else
    expect(".agpr_count", entry.accumulation_registers);
  expect(".sgpr_count", entry.scalar_registers);
  expect(".vgpr_spill_count", entry.vector_spills);
  expect(".sgpr_spill_count", entry.scalar_spills);
  expect(".private_segment_fixed_size", entry.scratch.count);
  expect(".group_segment_fixed_size", entry.shared.count);
  expect(".kernarg_segment_size", entry.kernel_arguments.count);
  expect(".wavefront_size", entry.wavefront);
  expect(".max_flat_workgroup_size", entry.max_threads);
  EXPECT_EQ(said.at(".uses_dynamic_stack"), entry.dynamic_stack ? "true" : "false");

  const CodeFacts& facts = code->facts;
  EXPECT_EQ(facts.registers, entry.vector_registers);
  EXPECT_EQ(facts.accumulation_registers, entry.accumulation_registers);
  EXPECT_EQ(facts.scalar_registers, entry.scalar_registers);
  EXPECT_EQ(facts.spilled_registers, entry.vector_spills);
  EXPECT_EQ(facts.spilled_scalar_registers, entry.scalar_spills);
  EXPECT_EQ(facts.static_shared_memory, entry.shared);
  if (entry.dynamic_stack)
    EXPECT_FALSE(facts.stack_frame.has_value()) << "it has no bound";
  else
    EXPECT_EQ(facts.stack_frame, entry.scratch);

  const auto text = tool->disassemble(code->image);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(*text, HasSubstr(std::string(kernel) + ":\n"));
  EXPECT_THAT(*text, HasSubstr("s_endpgm"));
  EXPECT_EQ(facts.instructions, instructions_in(*text));
  const std::string objdump = said_by("llvm-objdump -d --no-show-raw-insn --symbolize-operands", code->image.bytes);
  EXPECT_THAT(objdump, HasSubstr("<" + std::string(kernel) + ">:"));
}

INSTANTIATE_TEST_SUITE_P(OfEachKernel, CodeObjects,
                         testing::Combine(testing::ValuesIn(kArchitectures), testing::ValuesIn(kKernels)),
                         [](const auto& one) { return std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param); });

CompiledCode compiled(const char* architecture, const std::string& kernel) {
  auto code = compiler(architecture)->compile(kernels_for(architecture), options_for(kernel));
  EXPECT_TRUE(code.ok()) << code.status().to_string();
  return std::move(code).value();
}

TEST(CodeObject, ResourcesAreThoseOfTheSource) {
  const CodeFacts reduction = compiled("gfx942", "reduction").facts;
  EXPECT_EQ(reduction.static_shared_memory, Bytes(1024)) << "256 floats";
  EXPECT_EQ(reduction.spilled_registers, 0u);
  const CodeFacts many = compiled("gfx90a", "many_registers").facts;
  EXPECT_GE(many.registers, 90u) << "as many values live at once";
  const CodeObject object = read_code_object(compiled("gfx90a", "many_registers").image.bytes).value();
  EXPECT_EQ(object.kernels[0].max_threads, 256u) << "the kernel's own bound";
  EXPECT_TRUE(read_code_object(compiled("gfx1100", "recursion").image.bytes).value().kernels[0].dynamic_stack);
}

// What the hardware does with an object that is damaged nobody knows: whatever byte differs, it is read or refused.
TEST(CodeObject, ADamagedOneIsRefusedOrRead) {
  const ByteVector whole = compiled("gfx90a", "vector_add").image.bytes;
  for (size_t size = 0; size < whole.size(); size += 41) {
    const auto cut = read_code_object(ByteSpan(whole).first(size));
    EXPECT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.status().code(), Code::corrupt) << cut.status().to_string();
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    ByteVector bytes = whole;
    bytes[at] ^= std::byte{0xff};
    const auto read = read_code_object(bytes);
    if (!read.ok()) EXPECT_EQ(read.status().code(), Code::corrupt) << read.status().to_string();
  }
}

TEST(CodeObject, WhatIsNone) {
  EXPECT_THAT(read_code_object({}).status().to_string(), HasSubstr("corrupt: reading a code object for an AMD GPU: "));
  ByteVector bytes = compiled("gfx90a", "vector_add").image.bytes;
  bytes[18] = std::byte{62};  // e_machine of x86-64
  EXPECT_EQ(read_code_object(bytes).status().to_string(),
            "corrupt: reading a code object for an AMD GPU: it is for another machine");
}

}  // namespace
}  // namespace mneme::amdgpu
