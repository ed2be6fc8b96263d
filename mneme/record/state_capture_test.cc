#include "mneme/record/state_capture.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/device/fake/fake_device.h"
#include "mneme/record/vendor.h"
#include "mneme/store/database.h"
#include "mneme/store/writer_threads.h"

namespace mneme {
namespace {

// Variables lie in memory of their own each, as a driver may have it: a copy of more than one is refused.
class Variables final : public Vendor {
 public:
  explicit Variables(std::vector<MemoryRange> variables) : variables_(std::move(variables)) {}
  DeviceKind device_kind() const override { return DeviceKind::fake; }
  Status prepare() override { return {}; }
  Result<int> current_device() override { return 0; }
  Status synchronize(int) override { return {}; }
  Result<MemoryRange> find_global(const RecordableKernel&, const std::string&) override { return variables_[0]; }
  Result<MemoryRange> find_variable(const RegisteredVariable&, uint32_t) override { return variables_[0]; }
  Status read_variable(Stream&, MutableByteSpan to, DevicePtr from) override {
    const MemoryRange wanted{from, Bytes(to.size())};
    for (const MemoryRange& variable : variables_)
      if (variable.address <= wanted.address && wanted.end() <= variable.end())
        return std::memcpy(to.data(), reinterpret_cast<const void*>(from.address), to.size()), Status();
    return error(Code::device_fault, "reading {} at {}: that is no variable", wanted.size, from);
  }

 private:
  const std::vector<MemoryRange> variables_;
};

TEST(StateCapture, VariablesBesideEachOtherAreReadOneByOne) {
  TemporaryDirectory folder;
  fake::FakeDevice device;
  const ByteVector memory(300'001, std::byte{7});
  const DevicePtr begin(reinterpret_cast<uint64_t>(memory.data()));
  std::vector<MemoryRange> ranges;
  StateCapture::Memory all;
  for (uint64_t at = 0; const uint64_t size : {1, 100'000, 4, 199'996}) {
    ranges.push_back({begin + Bytes(at), Bytes(size)});
    all.globals.push_back({fmt::format("v{}", at), ranges.back().address, Bytes(size)});
    at += size;
  }
  Variables vendor(ranges);
  all.vendor = &vendor;
  auto stream = device.create_stream();
  auto database = Database::create(folder.path() / "db");
  PublicationOptions options;
  options.writers = std::make_shared<WriterThreads>(1, Bytes(0));
  auto publication = *database->begin_publication(options);
  StateCapture capture(device, 1_MiB, options.writers);
  CapturedMemory found;
  Status status = capture.capture(**stream, all, *publication, found);
  if (status.ok()) status = capture.finish(*publication);
  ASSERT_TRUE(status.ok()) << status.to_string();
  const MemoryState state = CaptureHistory().add(found);
  ASSERT_EQ(state.regions.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(state.regions[i].address, ranges[i].address);
    EXPECT_EQ(state.regions[i].pages.front(),
              digest_of(ByteSpan(memory).first(page_extent(state.regions[i].range(), 0).size.count)));
  }
}

}  // namespace
}  // namespace mneme
