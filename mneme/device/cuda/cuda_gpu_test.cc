// What only a real GPU and its driver can show of the CUDA backend, beside the conformance suite. Skipped where there is none.
#include <gtest/gtest.h>

#include <random>

#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/device/element_comparison.h"

#define ASSERT_OK(expression)                         \
  do {                                                \
    const ::mneme::Status status_ = (expression);     \
    ASSERT_TRUE(status_.ok()) << status_.to_string(); \
  } while (false)

namespace mneme {
namespace {

class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open(DeviceKind::cuda);
    if (opened.status().code() == Code::unavailable) GTEST_SKIP() << opened.status().message();
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device = std::move(opened).value();
    auto created = device->create_stream();
    ASSERT_TRUE(created.ok()) << created.status().to_string();
    stream = std::move(created).value();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

TEST_F(CudaGpu, RangesBeyondFourGiBAreFilledCopiedComparedAndHashed) {
  const Bytes size = 4_GiB + 3_MiB + Bytes(13), page = 64_KiB;
  if (device->properties().total_memory < 10_GiB)
    GTEST_SKIP() << "the device has only " << fmt::format("{}", device->properties().total_memory);
  auto space = device->reserve(kDefaultAddressSpaceBase, kDefaultAddressSpaceSize);
  ASSERT_OK(space.status());
  auto a = (*space)->allocate(size), b = (*space)->allocate(size);
  ASSERT_OK(a.status());
  ASSERT_OK(b.status());
  ASSERT_OK(stream->fill(*a, std::byte{0x5a}, size));
  ASSERT_OK(stream->copy(*b, *a, size));
  const uint64_t places[] = {uint64_t{1} << 32, (uint64_t{1} << 32) + 1000001, size.count - 1};
  const std::byte other{0x5b};
  for (uint64_t place : places) ASSERT_OK(stream->copy_to_device(*b + Bytes(place), std::span(&other, 1)));

  for (uint64_t offset : {0, 1, 8}) {  // by whole vectors, by shifted words, by words
    auto compared = stream->compare(*a + Bytes(offset), *b + Bytes(offset), size - Bytes(offset));
    ASSERT_OK(compared.status());
    EXPECT_EQ(compared->differing_bytes, 3u) << offset;
    EXPECT_EQ(compared->first_difference, places[0] - offset) << offset;
  }
  std::vector<uint64_t> of_a(size.count / page.count + 1), of_b(of_a.size());
  ASSERT_OK(stream->hash_pages(of_a, *a, size, page));
  ASSERT_OK(stream->hash_pages(of_b, *b, size, page));
  for (size_t i = 0; i < of_a.size(); ++i) {
    const bool changed = i == places[0] / page.count || i == places[1] / page.count || i == places[2] / page.count;
    ASSERT_EQ(of_a[i] != of_b[i], changed) << i;
  }
  const MemoryRange targets[] = {{*a, size}, {*b, size}}, memory{*a, size};
  uint8_t marks[2] = {};
  ASSERT_OK(stream->find_pointers(marks, targets, {&memory, 1}));
  EXPECT_EQ(marks[0] + marks[1], 0);
  const uint64_t pointer = b->address + 12345;
  ASSERT_OK(stream->copy_to_device(*a + Bytes((uint64_t{1} << 32) + 8), std::as_bytes(std::span(&pointer, 1))));
  ASSERT_OK(stream->find_pointers(marks, targets, {&memory, 1}));
  EXPECT_EQ(marks[0], 0);
  EXPECT_EQ(marks[1], 1);
}

TEST_F(CudaGpu, ElementsBeyondTwoToTheThirtyOneAndFourGiBAreCompared) {
  const Bytes size = 4_GiB + 3_MiB;
  if (device->properties().total_memory < 10_GiB)
    GTEST_SKIP() << "the device has only " << fmt::format("{}", device->properties().total_memory);
  auto a = device->allocate(size), b = device->allocate(size);
  ASSERT_OK(a.status());
  ASSERT_OK(b.status());
  ASSERT_OK(stream->fill(*b, std::byte{0x3c}, size));
  for (ElementType type : {ElementType::u8, ElementType::f8e4m3, ElementType::f16, ElementType::f32, ElementType::f64}) {
    const uint64_t element = size_of(type).count, elements = size.count / element;
    ASSERT_OK(stream->copy(*a, *b, size));
    ElementComparison how{type, 1, ErrorKind::ulp};
    auto equal = stream->compare_elements(*a, *b, size, how);
    ASSERT_OK(equal.status());
    EXPECT_TRUE(equal->within);
    EXPECT_EQ(equal->elements, elements);
    // One ULP at the start passes, two just behind 4 GiB and three in the last element do not.
    const std::byte off_by[] = {std::byte{0x3d}, std::byte{0x3e}, std::byte{0x3f}};
    const uint64_t places[] = {0, (uint64_t{4} << 30) / element, elements - 1};
    for (int i = 0; i < 3; ++i) ASSERT_OK(stream->copy_to_device(*a + Bytes(places[i] * element), std::span(&off_by[i], 1)));
    for (uint64_t skip : {uint64_t{0}, uint64_t{1}}) {  // aligned to vectors, and not
      auto result =
          stream->compare_elements(*a + Bytes(skip * element), *b + Bytes(skip * element), size - Bytes(skip * element), how);
      ASSERT_OK(result.status());
      EXPECT_FALSE(result->within);
      EXPECT_EQ(result->failing, 2u) << to_string(type);
      EXPECT_EQ(result->first_failing, places[1] - skip) << to_string(type);
      EXPECT_EQ(result->worst, 3) << to_string(type);
      EXPECT_EQ(result->worst_index, places[2] - skip) << to_string(type);
    }
  }
  ASSERT_OK(device->free(*a));
  ASSERT_OK(device->free(*b));
}

// Enough for each thread to see many of them, most of them different from what was recorded.
TEST_F(CudaGpu, ElementsThatAllDifferAreSeenAsTheHostSeesThem) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> recorded(4 << 20), actual(recorded.size());
  for (size_t i = 0; i < recorded.size(); ++i) {
    recorded[i] = i % 3 == 0 ? recorded[i / 2] : random();
    actual[i] = recorded[i] ^ (random() & random() & random());
  }
  const ByteSpan recorded_bytes = std::as_bytes(std::span(recorded)), actual_bytes = std::as_bytes(std::span(actual));
  const Bytes size(recorded_bytes.size());
  auto a = device->allocate(size), b = device->allocate(size);
  ASSERT_OK(a.status());
  ASSERT_OK(b.status());
  ASSERT_OK(stream->copy_to_device(*a, actual_bytes));
  ASSERT_OK(stream->copy_to_device(*b, recorded_bytes));
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f8e5m2, ElementType::f8e4m3, ElementType::f32,
                           ElementType::i8, ElementType::u16, ElementType::i32, ElementType::f64})
    for (ErrorKind kind : {ErrorKind::absolute, ErrorKind::relative, ErrorKind::ulp})
      for (double threshold : {0.0, 0.25, 1e4}) {
        const ElementComparison how{type, threshold, kind, Norm::none, NanPolicy::any};
        auto result = stream->compare_elements(*a, *b, size, how);
        ASSERT_OK(result.status());
        const ElementDifferences expected = compare_host_elements(actual_bytes, recorded_bytes, how);
        const std::string what = fmt::format("{} {} {}", to_string(type), to_string(kind), threshold);
        EXPECT_EQ(result->failing, expected.failing) << what;
        EXPECT_EQ(result->first_failing, expected.first_failing) << what;
        EXPECT_EQ(result->worst, expected.worst) << what;
        EXPECT_EQ(result->worst_index, expected.worst_index) << what;
      }
  ASSERT_OK(device->free(*a));
  ASSERT_OK(device->free(*b));
}

TEST_F(CudaGpu, LargeCopiesFromAndToPageableMemoryArriveWhole) {
  const uint64_t size = (uint64_t{600} << 20) + 12345;
  std::vector<std::byte> bytes(size), back(size);
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t word = random();
    __builtin_memcpy(&bytes[i], &word, 8);
  }
  auto memory = device->allocate(Bytes(size));
  ASSERT_OK(memory.status());
  ASSERT_OK(stream->copy_to_device(*memory, bytes));
  ASSERT_OK(stream->copy_to_host(back, *memory));
  EXPECT_TRUE(bytes == back);
  ASSERT_OK(device->free(*memory));
}

TEST_F(CudaGpu, AllocationsComeAndGoAndKeepWhatTheyHold) {
  auto space = device->reserve(kDefaultAddressSpaceBase, kDefaultAddressSpaceSize);
  ASSERT_OK(space.status());
  std::mt19937_64 random(11);
  struct Held {
    DevicePtr address;
    Bytes size;
    std::byte value;
  };
  std::vector<Held> held;
  const auto check = [&](const Held& one) {
    std::byte ends[2];
    ASSERT_OK(stream->copy_to_host(std::span(ends, 1), one.address));
    ASSERT_OK(stream->copy_to_host(std::span(ends + 1, 1), one.address + (one.size - Bytes(1))));
    EXPECT_EQ(ends[0], one.value);
    EXPECT_EQ(ends[1], one.value);
  };
  for (int round = 0; round < 400; ++round) {
    if (held.size() > 20 || (!held.empty() && random() % 3 == 0)) {
      std::swap(held[random() % held.size()], held.back());
      check(held.back());
      ASSERT_OK((*space)->free(held.back().address));
      held.pop_back();
    } else {
      const Bytes size(1 + random() % (uint64_t{1} << (10 + random() % 16)));
      auto address = (*space)->allocate(size);
      ASSERT_OK(address.status());
      held.push_back({*address, size, static_cast<std::byte>(round)});
      ASSERT_OK(stream->fill(*address, held.back().value, size));
      ASSERT_OK(stream->synchronize());
    }
  }
  for (const Held& one : held) check(one);
}

TEST_F(CudaGpu, TheTimeOfALaunchIsThatOfItsWork) {
  // Elapsed times rise with the work, by the device's clock: only their order is looked at.
  const std::string ptx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 cycles) {
  .reg .b64 %a, %b, %c; .reg .pred %p;
  ld.param.u64 %c, [cycles];
  mov.u64 %a, %clock64;
again:
  mov.u64 %b, %clock64;
  sub.u64 %b, %b, %a;
  setp.lt.u64 %p, %b, %c;
  @%p bra again;
  ret;
})";
  const auto text = std::as_bytes(std::span(ptx));
  auto module = device->load({DeviceKind::cuda, ByteVector(text.begin(), text.end())});
  ASSERT_OK(module.status());
  auto kernel = (*module)->kernel("spin");
  ASSERT_OK(kernel.status());
  const auto run = [&](uint64_t cycles) { return stream->launch_timed(**kernel, {}, std::as_bytes(std::span(&cycles, 1))); };
  for (uint64_t cycles : {1000, 1000, 100000000, 1000}) ASSERT_OK(run(cycles));
  auto times = stream->take_times();
  ASSERT_OK(times.status());
  ASSERT_EQ(times->size(), 4u);
  EXPECT_LT((*times)[1].count() * 10, (*times)[2].count());
  EXPECT_LT((*times)[3].count() * 10, (*times)[2].count());
}

// Many launches between other kernels of the process: each has its own time, and those that nobody timed have none.
TEST_F(CudaGpu, EveryOneOfManyLaunchesHasItsTime) {
  auto clock = device->clock();
  ASSERT_OK(clock.status());
  std::printf("clock: %s %s\n", clock->source.c_str(), clock->remark.c_str());
  const std::string ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() {\n  ret;\n}";
  const auto text = std::as_bytes(std::span(ptx));
  auto module = device->load({DeviceKind::cuda, ByteVector(text.begin(), text.end())});
  ASSERT_OK(module.status());
  auto kernel = (*module)->kernel("nothing");
  ASSERT_OK(kernel.status());
  auto memory = device->allocate(1_MiB);
  ASSERT_OK(memory.status());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) {
      if (i % 10 == 0) ASSERT_OK(stream->read_through(*memory, 1_MiB));
      if (i % 7 == 0) ASSERT_OK(stream->launch(**kernel, {}, {}));
      ASSERT_OK(stream->launch_timed(**kernel, {}, {}));
    }
    auto times = stream->take_times();
    ASSERT_OK(times.status());
    ASSERT_EQ(times->size(), 500u);
    for (Nanoseconds time : *times) EXPECT_GT(time.count(), 0);
  }
  ASSERT_OK(device->free(*memory));
}

TEST_F(CudaGpu, TheClocksOfTheHardwareCanBeRead) {
  auto reading = device->read_clocks();
  if (!reading) GTEST_SKIP() << "NVML does not tell the clocks here";
  EXPECT_GT(reading->sm_mhz, 100u);
}

}  // namespace
}  // namespace mneme
