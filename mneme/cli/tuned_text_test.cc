#include "mneme/cli/tuned_text.h"

#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

TEST(TunedText, SaysWhatRunsWhenAndWhy) {
  TunedKernel kernel;
  kernel.demangled = "scale(int*, int)";
  kernel.device = "cuda";
  kernel.architecture = "sm_90";
  kernel.rule = {LaunchRule::Covers::block, {{313, 1, 1}, {128, 1, 1}}, {{626, 1, 1}, {64, 1, 1}}};
  kernel.arguments = {{1, {std::byte{3}, std::byte{0}}}};
  kernel.aligned = {{0, 256}};
  kernel.alone = {{0, {{1, 0}}}};
  kernel.variables = {"offsets"};
  kernel.tolerances = {{{0, 0}, 64, 0, {ElementType::f32, 1e-5, ErrorKind::relative}, {}},
                       {{}, 0, 8, {ElementType::f64, 1e-9, ErrorKind::absolute}, 0}};
  kernel.repeatable = Repeatable::no;
  kernel.evidence.instances = {Digest()};
  kernel.evidence.speed_up = {1.5, 1.4, 1.6};
  kernel.evidence.confirmed = true;
  kernel.evidence.baseline = 3000;
  kernel.evidence.tuned = 2000;
  kernel.evidence.device_name = "NVIDIA H200";
  kernel.evidence.mneme = "0.1.0";
  kernel.evidence.assembler = "nvptxcompiler";
  kernel.evidence.driver = "580.95.05";
  kernel.evidence.configuration = R"({"passes":"default<O3>"})";
  TunedFile file;
  file.add(kernel, ByteVector(2048));
  EXPECT_EQ(tuned_text(file, "app.tuned"),
            "app.tuned: code of 1 kernel\n"
            "\n"
            "scale(int*, int)\n"
            "  static hash    00000000000000000000000000000000\n"
            "  code           cuda sm_90, 2.00 KiB by nvptxcompiler, Mneme 0.1.0\n"
            "  launches       blocks of 128x1x1 become as many threads in blocks of 64x1x1\n"
            "  if             argument 1 has the bytes 0300\n"
            "  if             argument 0 is a multiple of 256\n"
            "  if             argument 0 leads to memory that 1 other pointers do not lead to\n"
            "  right if       bytes from byte 64 behind argument 0 on are within f32, 1e-05, relative\n"
            "  right if       8 bytes from byte 0 of the variable offsets on are within f64, 1e-09, absolute\n"
            "  run twice      no: it does more than change memory, and --verify leaves it out\n"
            "  variable       offsets\n"
            "  speed-up       1.500 (1.400 to 1.600, 95 %)\n"
            "  time           2.00 us in place of 3.00 us, on NVIDIA H200, driver 580.95.05\n"
            "  verified on    00000000000000000000000000000000\n"
            "  configuration  {\"passes\":\"default<O3>\"}\n");
  kernel.rule = {LaunchRule::Covers::shape, {{4, 1, 1}, {32, 1, 1}}, {{4, 1, 1}, {32, 1, 1}, Bytes(64), true}};
  kernel.evidence.confirmed = false;
  file = {};
  file.add(kernel, ByteVector(1));
  const std::string other = tuned_text(file, "app.tuned");
  EXPECT_NE(other.find("4x1x1 blocks of 32x1x1 become 4x1x1 blocks of 32x1x1, 64 B of shared memory, cooperative\n"), other.npos)
      << other;
  EXPECT_NE(other.find("95 %), not confirmed to be faster\n"), other.npos) << other;
}

}  // namespace
}  // namespace mneme::cli
