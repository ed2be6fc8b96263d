// Programs of every version of the format (tests/corpora) are read, and run on the CPU device.
#include <gmock/gmock.h>

#include "mneme/exported/program.h"

namespace mneme {
namespace {

struct Corpus {
  const char* version;
  Bytes masked;
};

void PrintTo(const Corpus& corpus, std::ostream* out) { *out << corpus.version; }

class ProgramCorpora : public testing::TestWithParam<Corpus> {};

TEST_P(ProgramCorpora, RunAndAreVerified) {
  auto program = ExportedProgram::open(Path(MNEME_TEST_CORPORA) / fmt::format("program-{}", GetParam().version));
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  EXPECT_EQ((*program)->description().masked, GetParam().masked);
  const HeldAddresses held = (*program)->hold_addresses();
  auto device = Device::open((*program)->description().device);
  ASSERT_TRUE(device.ok()) << device.status().to_string();
  auto run = (*program)->run(**device, 1);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_TRUE(run->verified());
  EXPECT_EQ(run->measurement.times.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Of, ProgramCorpora, testing::Values(Corpus{"1.0", Bytes()}, Corpus{"1.1", Bytes(400000)}),
                         [](const auto& info) {
                           return std::string("Version") + info.param.version[0] + "_" + info.param.version[2];
                         });

}  // namespace
}  // namespace mneme
