#include "mneme/cpu/run/cpu_device.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <csignal>
#include <cstdlib>

#include "mneme/cpu/run/device_printf.h"
#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

std::string load_failure(CodeImage image) {
  CpuDevice device(1);
  return device.load(image).status().to_string();
}

TEST(CpuModule, RefusesWhatItCannotRun) {
  EXPECT_EQ(load_failure({DeviceKind::cuda, {}}),
            "incompatible: loading an image made for the device cuda on the device cpu: compile the kernel for cpu");
  EXPECT_EQ(load_failure({DeviceKind::cpu, ByteVector(100)}), "corrupt: loading a cpu image of 100 B: it is no shared object");
  EXPECT_EQ(load_failure(read_image(MNEME_TEST_PLAIN_OBJECT)),
            "corrupt: loading a cpu image: it has no symbol __mneme_cpu_image, so it was not made by Mneme");
  EXPECT_EQ(load_failure(read_image(MNEME_TEST_OTHER_VERSION)),
            "incompatible: loading a cpu image: it is of version 9 of the image format, this build of Mneme runs version 8: "
            "compile the kernel again");
  EXPECT_EQ(load_failure(read_image(MNEME_TEST_EARLIER_VERSION)), "ok") << "exported programs keep theirs";
  CodeImage cut = read_image(MNEME_TEST_KERNELS);
  cut.bytes.resize(200);
  EXPECT_EQ(load_failure(cut).find("corrupt: loading a cpu image of 200 B: "), 0u) << load_failure(cut);
}

// A variable of 1 TiB, say: the object is whole, and to record it again would not help.
TEST(CpuModule, AnImageThatThereIsNoMemoryForIsNotDamaged) {
  CodeImage image = read_image(MNEME_TEST_KERNELS);
  Elf64_Ehdr header{};
  std::memcpy(&header, image.bytes.data(), sizeof header);
  for (size_t at = header.e_phoff; at < header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr); at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, image.bytes.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    segment.p_memsz = (uint64_t{1} << 48) - segment.p_vaddr;
    std::memcpy(image.bytes.data() + at, &segment, sizeof segment);
  }
  EXPECT_EQ(load_failure(image),
            "exhausted: loading a cpu image: its code and variables take 256 TiB, which the system does not give");
}

TEST(CpuModule, FindsKernelsAndGlobalsByName) {
  CpuDevice device(1);
  auto module = device.load(read_image(MNEME_TEST_KERNELS));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->kernel("nothing").status().to_string(), "not_found: the image has no kernel 'nothing'");
  EXPECT_EQ((*module)->kernel("of_the_future").status().to_string(),
            "incompatible: the image's kernel 'of_the_future' is of version 99 of the image format, this build of Mneme runs "
            "version 8: compile the "
            "kernel again");
  EXPECT_EQ((*module)->kernel("without_code").status().to_string(),
            "corrupt: the image's kernel 'without_code' has no code for its mode 1");
  EXPECT_EQ(*(*module)->kernel("reverse"), *(*module)->kernel("reverse"));
  EXPECT_EQ((*(*module)->kernel("reverse"))->resources().static_shared_memory, Bytes(4096));
  EXPECT_EQ((*(*module)->kernel("reverse"))->resources().local_memory, Bytes(256));

  auto global = (*module)->global("counter");
  ASSERT_TRUE(global.ok());
  EXPECT_EQ(global->size, Bytes(16));
  EXPECT_EQ(reinterpret_cast<uint32_t*>(global->address.address)[2], 3u);
  EXPECT_EQ((*module)->global("nothing").status().to_string(), "not_found: the image has no global 'nothing'");

  // A second copy of the image has globals of its own.
  auto second = device.load(read_image(MNEME_TEST_KERNELS));
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->global("counter")->address, global->address);
}

TEST(CpuDevice, TellsOfTheMachine) {
  CpuDevice device(3);
  struct sysinfo machine{};
  ASSERT_EQ(::sysinfo(&machine), 0);
  EXPECT_EQ(device.properties().total_memory, Bytes(uint64_t{machine.totalram} * machine.mem_unit));
  EXPECT_EQ(device.properties().multiprocessors, 3u);
  const std::string& name = device.properties().name;
  ASSERT_FALSE(name.empty());
  EXPECT_EQ(name.find_first_of("\n\t"), std::string::npos) << name;
  EXPECT_TRUE(name.front() != ' ' && name.back() != ' ') << "'" << name << "'";
}

TEST(CpuDevice, ThereIsOne) {
  EXPECT_TRUE(open_device(0).ok());
  for (int ordinal : {-1, 1})
    EXPECT_EQ(open_device(ordinal).status().to_string(),
              fmt::format("unavailable: opening cpu device {}: there is only device 0, which uses all cores", ordinal));
}

TEST(CpuDevice, ReservesExactlyThereOrSaysWhoIsThere) {
  CpuDevice device(1);
  auto first = device.reserve(kDefaultAddressSpaceBase, 64_GiB);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_EQ(device.reserve(kDefaultAddressSpaceBase + 32_GiB, 64_GiB).status().to_string(),
            "unavailable: reserving 64.0 GiB at 0x7a0800000000: the range is taken in this process by "
            "0x7a0000000000-0x7a1000000000 (anonymous)");
  EXPECT_EQ(device.reserve(DevicePtr(0x7a0000001000), 2_MiB).status().to_string(),
            "invalid_argument: reserving 2.00 MiB at 0x7a0000001000: address and size must be multiples of 2.00 MiB");
  DevicePtr memory = *(*first)->allocate(10_GiB);
  EXPECT_EQ(memory, kDefaultAddressSpaceBase);
  auto* bytes = reinterpret_cast<uint8_t*>(memory.address);
  EXPECT_EQ(bytes[5u << 30], 0);
  bytes[5u << 30] = 1;
  ASSERT_TRUE((*first)->free(memory).ok());
  ASSERT_TRUE((*first)->allocate(10_GiB).ok());
  EXPECT_EQ(bytes[5u << 30], 0);
  first->reset();
  EXPECT_TRUE(device.reserve(kDefaultAddressSpaceBase, 2_MiB).ok());
}

TEST(CpuDevice, FreesOnlyWhatItAllocated) {
  CpuDevice device(1);
  EXPECT_EQ(device.free(DevicePtr(4096)).to_string(), "invalid_argument: freeing 0x1000: it was not allocated on this device");
  EXPECT_EQ(device.allocate(Bytes(uint64_t{1} << 60)).status().code(), Code::exhausted);
  DevicePtr memory = *device.allocate(Bytes(10));
  EXPECT_TRUE(device.free(memory).ok());
}

TEST(CpuDevice, ComparesAndHashesBeyondFourGigabytes) {
  CpuDevice device(2);
  auto stream = std::move(device.create_stream()).value();
  // Untouched memory of the process reads as zeros without being there.
  const Bytes size = 4_GiB + 3_MiB + Bytes(5);
  DevicePtr a = *device.allocate(size), b = *device.allocate(size);
  auto* last = reinterpret_cast<uint8_t*>((b + (size - Bytes(1))).address);
  *last = 1;
  auto result = stream->compare(a, b, size);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->differing_bytes, 1u);
  EXPECT_EQ(result->first_difference, size.count - 1);
  std::vector<uint64_t> hashes_a(2051), hashes_b(2051);
  ASSERT_TRUE(stream->hash_pages(hashes_a, a, size, 2_MiB).code() == Code::invalid_argument);
  hashes_a.resize(2050), hashes_b.resize(2050);
  ASSERT_TRUE(stream->hash_pages(hashes_a, a, size, 2_MiB).ok());
  ASSERT_TRUE(stream->hash_pages(hashes_b, b, size, 2_MiB).ok());
  for (size_t i = 0; i < 2050; ++i) ASSERT_EQ(hashes_a[i] == hashes_b[i], i != 2049) << i;
}

// What is spread over the workers is more than one piece of each, and the last piece is not whole.
TEST(CpuDevice, OfAListAsManyCopiesAreMadeAsAreAskedFor) {
  CpuDevice device(3);
  auto stream = std::move(device.create_stream()).value();
  constexpr uint64_t kAll = 100;
  const std::vector<std::byte> from(kAll, std::byte{1});
  for (uint64_t count : {0, 1, 31, 32, 33, 64, 65, 100}) {
    std::vector<std::byte> to(kAll);
    std::vector<ListedCopy> list;
    for (uint64_t i = 0; i < kAll; ++i)
      list.push_back({DevicePtr(reinterpret_cast<uint64_t>(&to[i])), DevicePtr(reinterpret_cast<uint64_t>(&from[i])), Bytes(1)});
    ASSERT_TRUE(stream->copy_listed(DevicePtr(reinterpret_cast<uint64_t>(list.data())), count).ok());
    std::vector<std::byte> expected(kAll);
    std::fill_n(expected.begin(), count, std::byte{1});
    EXPECT_EQ(to, expected) << count;
  }
}

TEST(CpuDevice, WorkOfManyPiecesIsDoneWhole) {
  CpuDevice device(3);
  auto stream = std::move(device.create_stream()).value();
  const uint64_t size = (7_MiB).count + 13;
  std::vector<std::byte> content(size + 1), found(size);
  for (uint64_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 2654435761 >> 13);
  const std::vector<std::byte> first(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(size));
  DevicePtr a = *device.allocate(Bytes(size + 1)), b = *device.allocate(Bytes(size + 1));
  ASSERT_TRUE(stream->copy_to_device(a, content).ok());
  ASSERT_TRUE(stream->copy(b, a, Bytes(size)).ok());
  ASSERT_TRUE(stream->copy_to_host(found, b).ok());
  EXPECT_TRUE(found == first);
  // Onto themselves, a byte further in each direction.
  ASSERT_TRUE(stream->copy(a + Bytes(1), a, Bytes(size)).ok());
  ASSERT_TRUE(stream->copy_to_host(found, a + Bytes(1)).ok());
  EXPECT_TRUE(found == first);
  ASSERT_TRUE(stream->copy(a, a + Bytes(1), Bytes(size)).ok());
  ASSERT_TRUE(stream->copy_to_host(found, a).ok());
  EXPECT_TRUE(found == first);

  constexpr uint64_t kCopies = 101;
  std::vector<ListedCopy> list;
  for (uint64_t i = 0; i < kCopies; ++i) list.push_back({a + Bytes(8 * i), b + Bytes(8 * (kCopies - i)), Bytes(8)});
  DevicePtr copies = *device.allocate(Bytes(list.size() * sizeof(ListedCopy)));
  ASSERT_TRUE(stream->copy_to_device(copies, std::as_bytes(std::span(list))).ok());
  ASSERT_TRUE(stream->copy_listed(copies, kCopies).ok());
  ASSERT_TRUE(stream->copy_to_host(found, a).ok());
  for (uint64_t i = 0; i < kCopies; ++i) {
    const auto* from = content.data() + 8 * (kCopies - i);
    EXPECT_TRUE(std::equal(from, from + 8, found.data() + 8 * i)) << i;
  }
  EXPECT_EQ(found[8 * kCopies], first[8 * kCopies]);

  DevicePtr set = *device.allocate(Bytes(size / 8 + 1));
  ASSERT_TRUE(stream->fill(set, std::byte{0}, Bytes(size / 8 + 1)).ok());
  ASSERT_TRUE(stream->fill(a, std::byte{0}, Bytes(size)).ok());
  ASSERT_TRUE(stream->fill(b, std::byte{0}, Bytes(size)).ok());
  std::vector<uint64_t> places;
  for (uint64_t at = 3; at < size; at += (1_MiB).count + 1) places.push_back(at);
  places.push_back(size - 1);
  for (uint64_t at : places) *reinterpret_cast<std::byte*>((a + Bytes(at)).address) = std::byte{1};
  ASSERT_TRUE(stream->update_byte_set(ByteSetStep::select, set, a, b, Bytes(size)).ok());
  std::vector<std::byte> bits(size / 8 + 1);
  ASSERT_TRUE(stream->copy_to_host(bits, set).ok());
  std::vector<uint64_t> differ;
  for (uint64_t i = 0; i < size; ++i)
    if ((bits[i / 8] >> (i % 8) & std::byte{1}) != std::byte{0}) differ.push_back(i);
  EXPECT_EQ(differ, places);
}

// Only the first page of the memory is there: work that goes on behind it faults, and work whose size lost its upper half ends
// there.
TEST(CpuDeviceDeathTest, FillsAndCopiesDoNotEndAtFourGigabytesLess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  constexpr uint64_t kPage = 4096;
  const Bytes size = 4_GiB + Bytes(kPage);
  const auto reserve = [&] {
    void* memory = ::mmap(nullptr, size.count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_EQ(::mprotect(memory, kPage, PROT_READ | PROT_WRITE), 0);
    return DevicePtr(reinterpret_cast<uint64_t>(memory));
  };
  const auto run = [&](auto work) {
    CpuDevice device(1);
    auto stream = std::move(device.create_stream()).value();
    std::_Exit(work(*stream, reserve(), reserve()).ok() ? 0 : 1);
  };
  const auto bytes = [&](DevicePtr from) { return std::span(reinterpret_cast<std::byte*>(from.address), size.count); };
  EXPECT_EXIT(run([&](Stream& s, DevicePtr a, DevicePtr) { return s.fill(a, std::byte{1}, size); }),
              testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run([&](Stream& s, DevicePtr a, DevicePtr b) { return s.copy(a, b, size); }), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run([&](Stream& s, DevicePtr a, DevicePtr b) { return s.copy_to_device(a, bytes(b)); }),
              testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run([&](Stream& s, DevicePtr a, DevicePtr b) { return s.copy_to_host(bytes(a), b); }),
              testing::KilledBySignal(SIGSEGV), "");
}

TEST(CpuDevice, FindsElementsBeyondFourGigabytesByTheirIndex) {
  CpuDevice device(2);
  auto stream = std::move(device.create_stream()).value();
  const Bytes size = 4_GiB + 3_MiB;
  DevicePtr a = *device.allocate(size), b = *device.allocate(size);
  const uint64_t last = size.count / 4 - 1;
  reinterpret_cast<float*>(b.address)[last] = 1;
  auto result = stream->compare_elements(a, b, size, {ElementType::f32});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->elements, last + 1);
  EXPECT_EQ(result->failing, 1u);
  EXPECT_EQ(result->first_failing, last);
  EXPECT_EQ(result->worst_index, last);
}

// Work is spread in pieces of 2 MiB.
TEST(CpuDevice, CountsFromTheBeginOfTheMemoryAndNotOfAPiece) {
  CpuDevice device(2);
  auto stream = std::move(device.create_stream()).value();
  DevicePtr a = *device.allocate(9_MiB), b = *device.allocate(9_MiB);
  auto* floats = reinterpret_cast<float*>(b.address);
  constexpr uint64_t kFirst = (5 << 20) / 4 + 3, kWorst = (7 << 20) / 4 + 1;
  floats[kFirst] = 1, floats[kWorst] = 2;
  auto bytes = stream->compare(a, b, 9_MiB);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->first_difference, kFirst * 4 + 2);
  auto elements = stream->compare_elements(a, b, 9_MiB, {ElementType::f32});
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ(elements->first_failing, kFirst);
  EXPECT_EQ(elements->worst_index, kWorst);
  ASSERT_TRUE(stream->compare_later(a, b, 9_MiB).ok());
  auto later = stream->take_comparisons();
  ASSERT_TRUE(later.ok() && later->size() == 1);
  EXPECT_EQ((*later)[0].first_difference, kFirst * 4 + 2);
  EXPECT_TRUE(stream->take_comparisons()->empty()) << "they are taken once";
  auto* pages = reinterpret_cast<uint64_t*>((*device.allocate(Bytes(9 * 8))).address);
  ASSERT_TRUE(stream->hash_pages_to(DevicePtr(reinterpret_cast<uint64_t>(pages)), b, 9_MiB, 1_MiB).ok());
  for (int page = 0; page < 9; ++page) EXPECT_EQ(pages[page] == pages[0], page != 5 && page != 7) << page;
}

// The last piece is one byte, with which a worker is done long before the other is with the first.
TEST(CpuDevice, TheFirstDifferenceIsTheFirstWhicheverPieceIsDoneFirst) {
  CpuDevice device(2);
  auto stream = std::move(device.create_stream()).value();
  const Bytes size = 2_MiB + Bytes(1);
  DevicePtr a = *device.allocate(size), b = *device.allocate(size);
  auto* bytes = reinterpret_cast<uint8_t*>(b.address);
  bytes[7] = bytes[size.count - 1] = 1;
  for (int i = 0; i < 100; ++i) {
    auto found = stream->compare(a, b, size);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->first_difference, 7u);
    ASSERT_EQ(found->differing_bytes, 2u);
  }
}

TEST(CpuDevice, PagesMayBeLargerThanPiecesOfWork) {
  CpuDevice device(2);
  auto stream = std::move(device.create_stream()).value();
  DevicePtr memory = *device.allocate(9_MiB);
  std::memset(reinterpret_cast<void*>(memory.address), 0, (9_MiB).count);
  reinterpret_cast<uint8_t*>(memory.address)[7 << 20] = 1;
  std::vector<uint64_t> hashes(3), before(3);
  ASSERT_TRUE(stream->hash_pages(hashes, memory, 9_MiB, 4_MiB).ok());
  reinterpret_cast<uint8_t*>(memory.address)[7 << 20] = 0;
  ASSERT_TRUE(stream->hash_pages(before, memory, 9_MiB, 4_MiB).ok());
  for (size_t page = 0; page < 3; ++page) EXPECT_EQ(hashes[page] == before[page], page != 1) << page;
}

TEST(DevicePrintf, AllConversions) {
  struct {
    int32_t i = -5;
    uint32_t u = 200;
    int64_t l = 1ll << 40;
    double f = 3.25;
    const char* s = "text";
    const void* p = reinterpret_cast<void*>(0xabc0);
    int32_t width = 6, precision = 1;
    double g = 2.75;
    int32_t c = 'z';
    int8_t padding[4] = {};
    double e = 1e-10;
    int32_t h = 0x12345;
    uint64_t z = 1ull << 63;
  } arguments;
  DeviceText formatted = format_device_printf("[%05d|%#x|%lld|%-8.3f|%6s|%p|%*.*f|%c|%e|%hd|%zu|%%|%y]", &arguments);
  EXPECT_EQ(formatted.text,
            "[-0005|0xc8|1099511627776|3.250   |  text|0xabc0|   2.8|z|1.000000e-10|9029|9223372036854775808|%|%y]");
  EXPECT_EQ(formatted.arguments, 13);
  EXPECT_EQ(format_device_printf(nullptr, nullptr).arguments, -1);
  EXPECT_EQ(format_device_printf("no arguments", nullptr).arguments, 0);
  EXPECT_EQ(format_device_printf("100%", nullptr).text, "100%");
  const char* null = nullptr;
  EXPECT_EQ(format_device_printf("%s", &null).text, "(null)");
  double large = 1e300;
  EXPECT_EQ(format_device_printf("%f", &large).text.size(), 308u);
}

TEST(DevicePrintf, LengthsAndNumbersFromArguments) {
  const struct {
    int32_t precision = -1, i = 5;
    int32_t byte = 0x1ff, width = -4, j = 6;
    uint32_t padding = 0;
    int64_t wide[5] = {int64_t{1} << 40, int64_t{2} << 40, int64_t{3} << 40, int64_t{4} << 40, int64_t{5} << 40};
  } arguments;
  EXPECT_EQ(format_device_printf("%.*d|%hhd|%*d|%jd %td %ld %qd %zd", &arguments).text,
            "5|-1|6   |1099511627776 2199023255552 3298534883328 4398046511104 5497558138880");
  const struct {
    void* nowhere = nullptr;
    int32_t i = 7;
  } written;
  const DeviceText text = format_device_printf("%n%d", &written);
  EXPECT_EQ(text.text, "7");
  EXPECT_EQ(text.arguments, 2);
  for (size_t width : {255, 256, 257}) {
    const std::string format = "%" + std::to_string(width) + "d";
    EXPECT_EQ(format_device_printf(format.c_str(), &written.i).text, std::string(width - 1, ' ') + "7");
  }
}

}  // namespace
}  // namespace mneme::cpu
