// What the build has made of the memory and element kernels for each of AMD's architectures, as LLVM's tools read it.
#include "mneme/device/hip/code_objects.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <array>
#include <cstring>
#include <fstream>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/device/element_comparison.h"

namespace mneme::hip {
namespace {

using testing::HasSubstr;
using enum gpu::KernelSource;

// What a command prints.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 65536> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), size);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

std::vector<std::string> kernels_of(gpu::KernelSource source) {
  if (source == memory) {
    return {"mneme_compare",      "mneme_hash_pages",       "mneme_copy_listed",     "mneme_find_pointers",
            "mneme_select_bytes", "mneme_drop_wrong_bytes", "mneme_complement_bytes"};
  }
  std::vector<std::string> names;
  for (int t = 0; t <= static_cast<int>(ElementType::complex128); ++t)
    names.push_back(fmt::format("mneme_elements_{}", to_string(static_cast<ElementType>(t))));
  return names;
}

class CodeObjects : public testing::TestWithParam<std::string_view> {
 protected:
  std::string file_of(gpu::KernelSource source) const {
    const auto object = kernel_code_object(source, GetParam());
    EXPECT_TRUE(object.ok()) << object.status().to_string();
    const std::string path = folder_.path() / (source == memory ? "memory.co" : "elements.co");
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(object->data()), static_cast<long>(object->size()));
    return path;
  }
  const TemporaryDirectory folder_;
};

TEST_P(CodeObjects, AreOfTheVersionThatEveryRuntimeLoads) {
  for (const gpu::KernelSource source : {memory, elements}) {
    const ByteVector object = kernel_code_object(source, GetParam()).value();
    Elf64_Ehdr header;
    ASSERT_GE(object.size(), sizeof header);
    memcpy(&header, object.data(), sizeof header);
    EXPECT_EQ(header.e_machine, 224);
    EXPECT_EQ(header.e_ident[EI_OSABI], 64) << "HSA";
    EXPECT_EQ(header.e_ident[EI_ABIVERSION], 2) << "code object version 4";
    const std::string read = output_of(fmt::format("{} --file-headers --notes {}", MNEME_TEST_READELF, file_of(source)));
    EXPECT_THAT(read, HasSubstr(fmt::format("amdgcn-amd-amdhsa--{}", GetParam())));
    // Where the hardware has the settings, the code is for each of them.
    EXPECT_EQ(count(read, "XNACK_ON") + count(read, "XNACK_OFF") + count(read, "SRAMECC_ON") + count(read, "SRAMECC_OFF"), 0u);
  }
}

TEST_P(CodeObjects, HaveEveryKernelAndSpillNothingIntoMemory) {
  for (const gpu::KernelSource source : {memory, elements}) {
    const std::string read = output_of(fmt::format("{} --notes --symbols --wide {}", MNEME_TEST_READELF, file_of(source)));
    const std::vector<std::string> kernels = kernels_of(source);
    for (const std::string& kernel : kernels) {
      EXPECT_THAT(read, testing::ContainsRegex(fmt::format("\\.name: +{}\n", kernel)));
      EXPECT_THAT(read, HasSubstr(kernel + ".kd")) << "what the runtime launches it by";
    }
    // Scalar registers are spilled into lanes of vector registers, and not into memory.
    for (const char* spills : {".vgpr_spill_count: 0", ".private_segment_fixed_size: 0"})
      EXPECT_EQ(count(read, spills), kernels.size()) << spills;
    const size_t wave = GetParam().starts_with("gfx9") ? 64 : 32;
    EXPECT_EQ(count(read, fmt::format(".wavefront_size: {}", wave)), kernels.size());
    EXPECT_EQ(count(read, ".max_flat_workgroup_size: 256"), kernels.size());
  }
}

TEST_P(CodeObjects, AreDisassembled) {
  for (const gpu::KernelSource source : {memory, elements}) {
    const std::string code = output_of(fmt::format("{} -d --no-show-raw-insn {}", MNEME_TEST_OBJDUMP, file_of(source)));
    for (const std::string& kernel : kernels_of(source)) EXPECT_THAT(code, HasSubstr(fmt::format("<{}>:", kernel)));
    EXPECT_GE(count(code, "s_endpgm"), kernels_of(source).size());
    EXPECT_GT(count(code, "_load_dwordx4") + count(code, "_load_b128"), 0u) << "memory is read by 16 bytes";
    EXPECT_GT(count(code, source == memory ? "global_atomic" : "s_barrier"), 0u);
    EXPECT_THAT(code, testing::Not(HasSubstr("<unknown>")));
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, CodeObjects, testing::ValuesIn(kernel_architectures()),
                         [](const auto& architecture) { return std::string(architecture.param); });

TEST(CodeObjectChoice, IsByTheProcessorWhateverTheSettings) {
  EXPECT_EQ(processor_of("gfx90a:sramecc+:xnack-"), "gfx90a");
  EXPECT_EQ(processor_of("gfx1100"), "gfx1100");
  for (std::string_view processor : kernel_architectures()) {
    const auto plain = kernel_code_object(memory, processor);
    ASSERT_TRUE(plain.ok()) << plain.status().to_string();
    EXPECT_EQ(*kernel_code_object(memory, fmt::format("{}:xnack+", processor)), *plain);
    EXPECT_NE(*kernel_code_object(elements, processor), *plain);
  }
  EXPECT_EQ(kernel_code_object(memory, "gfx9").status().code(), Code::unsupported) << "no beginning of a name is one";
}

}  // namespace
}  // namespace mneme::hip
