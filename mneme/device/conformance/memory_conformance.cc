// Memory: allocation, copies, fills, comparison, page hashes, address spaces.
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

class Memory : public Conformance {};

std::vector<uint8_t> random_bytes(size_t count, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST_F(Memory, WhatIsCopiedInComesOut) {
  for (size_t size : {size_t{1}, size_t{3}, size_t{4096}, size_t{100001}, size_t{5 << 20}}) {
    const auto bytes = random_bytes(size);
    EXPECT_EQ(download<uint8_t>(upload(bytes), size), bytes) << size;
  }
  ASSERT_OK(stream_->copy_to_device(allocate(Bytes(16)), {}));
}

TEST_F(Memory, PinnedMemoryIsCopiedInLater) {
  const auto bytes = random_bytes(300000);
  auto buffer = device_->allocate_pinned(Bytes(bytes.size()));
  ASSERT_OK(buffer.status());
  ASSERT_EQ((*buffer)->bytes().size(), bytes.size());
  std::ranges::copy(std::as_bytes(std::span(bytes)), (*buffer)->bytes().begin());
  const ByteSpan pinned = (*buffer)->bytes();
  const DevicePtr to = zeros(Bytes(bytes.size()));
  ASSERT_OK(stream_->copy_to_device_later(to, pinned.first(100001)));
  ASSERT_OK(stream_->copy_to_device_later(to + Bytes(100001), pinned.subspan(100001)));
  ASSERT_OK(stream_->copy_to_device_later(to, {}));
  ASSERT_OK(stream_->synchronize());
  EXPECT_EQ(download<uint8_t>(to, bytes.size()), bytes);
  EXPECT_EQ(device_->allocate_pinned(Bytes()).status().code(), Code::invalid_argument);
}

TEST_F(Memory, CopiesOnTheDeviceAtOddOffsets) {
  const auto bytes = random_bytes(3 << 20);
  DevicePtr from = upload(bytes), to = zeros(Bytes(bytes.size()));
  const uint64_t source = 17, destination = 1001, size = (2 << 20) + 13;
  ASSERT_OK(stream_->copy(to + Bytes(destination), from + Bytes(source), Bytes(size)));
  ASSERT_OK(stream_->copy(to, from, Bytes(0)));
  std::vector<uint8_t> expected(bytes.size());
  std::copy_n(bytes.begin() + source, size, expected.begin() + destination);
  EXPECT_EQ(download<uint8_t>(to, bytes.size()), expected);
}

TEST_F(Memory, HostMemoryIsReachedAtItsAddress) {
  auto mapping = device_->map_host(kHostMemoryBase, 1_MiB);
  ASSERT_OK(mapping.status());
  const DevicePtr host = (*mapping)->address() + Bytes(24);
  auto* bytes = reinterpret_cast<uint8_t*>(host.address);
  const auto random = random_bytes(300000);
  DevicePtr device = upload(random);
  ASSERT_OK(stream_->copy(host, device, Bytes(random.size())));
  ASSERT_OK(stream_->synchronize());
  EXPECT_TRUE(std::equal(random.begin(), random.end(), bytes));
  EXPECT_EQ(stream_->compare(host, device, Bytes(random.size()))->differing_bytes, 0u);
  bytes[200000] ^= 1;
  EXPECT_EQ(stream_->compare(host, device, Bytes(random.size()))->first_difference, 200000u);
  std::vector<uint64_t> of_host(5), of_device(5);
  ASSERT_OK(stream_->hash_pages(of_host, host, Bytes(random.size()), 64_KiB));
  ASSERT_OK(stream_->hash_pages(of_device, device, Bytes(random.size()), 64_KiB));
  for (size_t page = 0; page < 5; ++page) EXPECT_EQ(of_host[page] == of_device[page], page != 3) << page;
  EXPECT_EQ(download<uint8_t>(host, random.size())[200000], random[200000] ^ 1);
  ASSERT_OK(stream_->copy_to_device(host, std::as_bytes(std::span(random))));
  ASSERT_OK(stream_->fill(host, std::byte{7}, Bytes(3)));
  ASSERT_OK(stream_->synchronize());
  EXPECT_EQ(bytes[2], 7);
  EXPECT_EQ(bytes[200000], random[200000]);
}

TEST_F(Memory, FillsOnlyTheRange) {
  DevicePtr memory = zeros(1_MiB);
  ASSERT_OK(stream_->fill(memory + Bytes(5), std::byte{0xab}, Bytes(70003)));
  ASSERT_OK(stream_->fill(memory + Bytes(100), std::byte{0xcd}, Bytes(0)));
  const auto bytes = download<uint8_t>(memory, 1 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i >= 5 && i < 70008 ? 0xab : 0) << i;
}

TEST_F(Memory, ComparesAtAnyOffsetAndSize) {
  auto bytes = random_bytes(1 << 20);
  DevicePtr a = upload(bytes);
  const std::vector<size_t> changed = {3, 4095, 4096, 70001, 524287, (1 << 20) - 1};
  for (size_t i : changed) bytes[i] ^= 0x40;
  DevicePtr b = upload(bytes);
  for (uint64_t begin : {uint64_t{0}, uint64_t{1}, uint64_t{4}, uint64_t{4095}, uint64_t{70002}}) {
    for (uint64_t end : {uint64_t{70001}, uint64_t{70002}, uint64_t{524289}, uint64_t{(1 << 20) - 1}, uint64_t{1 << 20}}) {
      if (end < begin) continue;
      Comparison expected;
      for (size_t i : changed) {
        if (i < begin || i >= end) continue;
        if (expected.differing_bytes++ == 0) expected.first_difference = i - begin;
      }
      auto result = stream_->compare(a + Bytes(begin), b + Bytes(begin), Bytes(end - begin));
      ASSERT_OK(result.status());
      EXPECT_EQ(result->differing_bytes, expected.differing_bytes) << begin << " to " << end;
      EXPECT_EQ(result->first_difference, expected.first_difference) << begin << " to " << end;
    }
  }
}

TEST_F(Memory, ComparesRangesThatLieDifferently) {
  const auto bytes = random_bytes(100003);
  DevicePtr a = zeros(Bytes(bytes.size() + 64)), b = zeros(Bytes(bytes.size() + 64));
  for (uint64_t offset : {uint64_t{1}, uint64_t{2}, uint64_t{7}, uint64_t{8}}) {
    ASSERT_OK(stream_->copy_to_device(a + Bytes(3), std::as_bytes(std::span(bytes))));
    ASSERT_OK(stream_->copy_to_device(b + Bytes(offset), std::as_bytes(std::span(bytes))));
    auto result = stream_->compare(a + Bytes(3), b + Bytes(offset), Bytes(bytes.size()));
    ASSERT_OK(result.status());
    EXPECT_EQ(result->differing_bytes, 0u);
    EXPECT_FALSE(result->first_difference.has_value());
  }
}

TEST_F(Memory, CountsEveryDifferingByte) {
  DevicePtr a = zeros(3_MiB), b = allocate(3_MiB);
  ASSERT_OK(stream_->fill(b, std::byte{1}, 3_MiB));
  auto result = stream_->compare(a + Bytes(1), b + Bytes(1), 3_MiB - Bytes(2));
  ASSERT_OK(result.status());
  EXPECT_EQ(result->differing_bytes, (3u << 20) - 2);
  EXPECT_EQ(result->first_difference, 0u);
}

TEST_F(Memory, SetsOfBytesAreOfEveryByteOfTheRangeAndOfNoOther) {
  for (const size_t size : {size_t{1}, size_t{7}, size_t{8}, size_t{77}, size_t{100000}, size_t{5 << 20} + 3}) {
    // A third of the bytes is zero in each.
    auto a = random_bytes(size, 1), b = random_bytes(size, 2), expected = random_bytes(size, 3);
    for (size_t i = 0; i < size; ++i) a[i] *= a[i] % 3 != 0, b[i] *= b[i] % 3 == 0;
    const size_t bytes = (size + 7) / 8;
    const auto has = [](const std::vector<uint8_t>& set, size_t i) { return (set[i / 8] >> i % 8 & 1) != 0; };
    // Behind the range its last byte has bits that are nobody's, and behind it lies another's byte.
    DevicePtr set = upload(std::vector<uint8_t>(bytes + 1, 0xff));
    ASSERT_OK(stream_->update_byte_set(ByteSetStep::select, set, upload(a), upload(b), Bytes(size)));
    const auto selected = download<uint8_t>(set, bytes + 1);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(has(selected, i), a[i] != 0 && b[i] == 0) << i << " of " << size;
    for (size_t i = size; i < 8 * bytes + 8; ++i) ASSERT_TRUE(has(selected, i)) << i << " of " << size;

    auto actual = expected;
    for (size_t i = 0; i < size; i += 5) actual[i] ^= 0x10;
    ASSERT_OK(stream_->update_byte_set(ByteSetStep::drop_wrong, set, upload(actual), upload(expected), Bytes(size)));
    const auto kept = download<uint8_t>(set, bytes + 1);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(has(kept, i), has(selected, i) && i % 5 != 0) << i << " of " << size;

    DevicePtr to = upload(actual);
    ASSERT_OK(stream_->update_byte_set(ByteSetStep::complement, set, to, upload(expected), Bytes(size)));
    const auto written = download<uint8_t>(to, size);
    for (size_t i = 0; i < size; ++i)
      ASSERT_EQ(written[i], has(kept, i) ? static_cast<uint8_t>(~expected[i]) : actual[i]) << i << " of " << size;
    EXPECT_EQ((download<uint8_t>(set, bytes + 1)), kept);
  }
  ASSERT_OK(stream_->update_byte_set(ByteSetStep::select, {}, {}, {}, Bytes(0)));
}

TEST_F(Memory, ComparesElementsOfEveryTypeAsTheHostDoes) {
  auto recorded = random_bytes(1 << 20);
  auto actual = recorded;
  for (size_t i : {5, 4096, 70001, 524288, (1 << 20) - 1}) actual[i] ^= 1;
  DevicePtr a = upload(actual), b = upload(recorded);
  for (int t = 0; t <= static_cast<int>(ElementType::complex128); ++t) {
    const auto type = static_cast<ElementType>(t);
    const uint64_t element = size_of(type).count;
    for (uint64_t begin : {uint64_t{0}, element, 5 * element}) {
      const uint64_t size = (actual.size() - begin) / element * element;
      for (const ElementComparison& how : {ElementComparison{type, 1e-3, ErrorKind::absolute},
                                           {type, 1e-3, ErrorKind::relative},
                                           {type, 0, ErrorKind::ulp},
                                           {type, 1e-3, ErrorKind::relative, Norm::l1},
                                           {type, 1e3, ErrorKind::absolute, Norm::l2},
                                           {type, 1, ErrorKind::relative, Norm::linf}}) {
        auto result = stream_->compare_elements(a + Bytes(begin), b + Bytes(begin), Bytes(size), how);
        ASSERT_OK(result.status());
        const ElementDifferences expected = compare_host_elements(std::as_bytes(std::span(actual)).subspan(begin, size),
                                                                  std::as_bytes(std::span(recorded)).subspan(begin, size), how);
        const std::string what =
            fmt::format("{} {} {} from {}", to_string(type), to_string(how.error), to_string(how.norm), begin);
        EXPECT_EQ(result->within, expected.within) << what;
        EXPECT_EQ(result->elements, expected.elements) << what;
        EXPECT_EQ(result->failing, expected.failing) << what;
        EXPECT_EQ(result->first_failing, expected.first_failing) << what;
        EXPECT_EQ(result->worst, expected.worst) << what;
        EXPECT_EQ(result->worst_index, expected.worst_index) << what;
        auto near = [](double a, double b) { return a == b || std::abs(a - b) < 1e-12 * b; };
        EXPECT_TRUE(near(result->difference_norm, expected.difference_norm)) << what;
        EXPECT_TRUE(near(result->recorded_norm, expected.recorded_norm)) << what;
      }
    }
  }
}

TEST_F(Memory, SumsOfElementsAreTheSameEveryTime) {
  std::mt19937_64 random(5);
  std::vector<float> recorded(3 << 20), actual(3 << 20);
  for (size_t i = 0; i < recorded.size(); ++i) {
    recorded[i] = std::ldexp(1.0f, static_cast<int>(random() % 60));
    actual[i] = recorded[i] * (1 + static_cast<float>(random() % 100) * 1e-5f);
  }
  DevicePtr a = upload(actual), b = upload(recorded);
  const ElementComparison how{ElementType::f32, 1e-3, ErrorKind::relative, Norm::l2};
  auto first = stream_->compare_elements(a, b, Bytes(recorded.size() * 4), how);
  ASSERT_OK(first.status());
  EXPECT_GT(first->difference_norm, 0);
  for (int i = 0; i < 3; ++i) {
    auto again = stream_->compare_elements(a, b, Bytes(recorded.size() * 4), how);
    ASSERT_OK(again.status());
    EXPECT_EQ(again->difference_norm, first->difference_norm);
    EXPECT_EQ(again->recorded_norm, first->recorded_norm);
  }
}

TEST_F(Memory, RefusesElementsThatAreNoneThere) {
  DevicePtr a = zeros(Bytes(64)), b = zeros(Bytes(64));
  auto status = stream_->compare_elements(a + Bytes(2), b, Bytes(16), {ElementType::f32}).status();
  EXPECT_EQ(status.to_string(),
            fmt::format("invalid_argument: comparing 16 B at {} and {} as f32: an element has 4 B and lies at "
                        "a multiple of 4",
                        a + Bytes(2), b));
  EXPECT_EQ(stream_->compare_elements(a, b, Bytes(17), {ElementType::f32}).status().code(), Code::invalid_argument);
  ASSERT_OK(stream_->compare_elements(a + Bytes(8), b, Bytes(16), {ElementType::complex128}).status());
  auto nothing = stream_->compare_elements(a, b, Bytes(0), {ElementType::f32});
  ASSERT_OK(nothing.status());
  EXPECT_TRUE(nothing->within);
}

TEST_F(Memory, PageHashesFindTheChangedPages) {
  for (uint64_t page : {uint64_t{4096}, uint64_t{65536}, uint64_t{2 << 20}}) {
    const uint64_t size = 5 * page + 1001;  // the last page is short
    auto bytes = random_bytes(size);
    std::copy_n(bytes.begin(), page, bytes.begin() + static_cast<long>(2 * page));  // page 2 equals page 0
    DevicePtr memory = upload(bytes);
    std::vector<uint64_t> before(6), after(6), again(6);
    ASSERT_OK(stream_->hash_pages(before, memory, Bytes(size), Bytes(page)));
    EXPECT_EQ(before[0], before[2]);
    EXPECT_NE(before[0], before[1]);

    for (uint64_t changed : {uint64_t{0}, page - 1, 3 * page + 17, size - 1}) {
      bytes[changed] ^= 1;
      ASSERT_OK(stream_->copy_to_device(memory, std::as_bytes(std::span(bytes))));
      ASSERT_OK(stream_->hash_pages(after, memory, Bytes(size), Bytes(page)));
      for (size_t i = 0; i < 6; ++i)
        EXPECT_EQ(before[i] == after[i], i != changed / page) << "page " << i << " of " << page << " B";
      bytes[changed] ^= 1;
    }
    ASSERT_OK(stream_->copy_to_device(memory, std::as_bytes(std::span(bytes))));
    ASSERT_OK(stream_->hash_pages(again, memory, Bytes(size), Bytes(page)));
    EXPECT_EQ(before, again);
  }
}

TEST_F(Memory, PageHashesTellZerosOfDifferentPlacesEqual) {
  DevicePtr memory = zeros(Bytes(4 * 65536));
  std::vector<uint64_t> hashes(4);
  ASSERT_OK(stream_->hash_pages(hashes, memory, Bytes(4 * 65536), 64_KiB));
  EXPECT_EQ(hashes, std::vector<uint64_t>(4, hashes[0]));
  // A swap of two words is a change.
  const uint64_t words[2] = {1, 2}, swapped[2] = {2, 1};
  ASSERT_OK(stream_->copy_to_device(memory, std::as_bytes(std::span(words))));
  ASSERT_OK(stream_->copy_to_device(memory + 64_KiB, std::as_bytes(std::span(swapped))));
  ASSERT_OK(stream_->copy_to_device(memory + 128_KiB + Bytes(16), std::as_bytes(std::span(words))));
  ASSERT_OK(stream_->hash_pages(hashes, memory, Bytes(4 * 65536), 64_KiB));
  EXPECT_NE(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
  EXPECT_NE(hashes[0], hashes[3]);
}

TEST_F(Memory, WorkThatIsStartedTogetherIsWaitedForOnce) {
  const uint64_t page = 4096, pages = 40, size = page * pages - 1000;  // the last page is short
  auto bytes = random_bytes(size);
  DevicePtr recorded = upload(bytes), hashes = allocate(Bytes(8 * pages)), expected = allocate(Bytes(8 * pages));
  bytes[5 * page + 3] ^= 1;
  bytes[9 * page] ^= 1;
  DevicePtr actual = upload(bytes);
  ASSERT_OK(stream_->hash_pages_to(expected, recorded, Bytes(size), Bytes(page)));
  ASSERT_OK(stream_->hash_pages_to(hashes, actual, Bytes(size), Bytes(page)));
  ASSERT_OK(stream_->compare_later(hashes, expected, Bytes(8 * pages)));
  ASSERT_OK(stream_->compare_later(actual, recorded, Bytes(size)));
  ASSERT_OK(stream_->copy(actual + Bytes(5 * page), recorded + Bytes(5 * page), Bytes(page)));
  ASSERT_OK(stream_->compare_later(actual, recorded, Bytes(size)));
  ASSERT_OK(stream_->copy(actual, recorded, Bytes(size)));
  ASSERT_OK(stream_->hash_pages_to(hashes, actual, Bytes(size), Bytes(page)));
  ASSERT_OK(stream_->compare_later(hashes, expected, Bytes(8 * pages)));
  ASSERT_OK(stream_->compare_later(actual, recorded, Bytes(0)));
  auto results = stream_->take_comparisons();
  ASSERT_OK(results.status());
  ASSERT_EQ(results->size(), 5u);
  EXPECT_EQ((*results)[0].first_difference.value_or(0) / 8, 5u);
  EXPECT_GT((*results)[0].differing_bytes, 8u);
  EXPECT_EQ((*results)[1].differing_bytes, 2u);
  EXPECT_EQ((*results)[1].first_difference, 5 * page + 3);
  EXPECT_EQ((*results)[2].first_difference, 9 * page);
  EXPECT_EQ((*results)[3].differing_bytes, 0u);
  EXPECT_EQ((*results)[4].differing_bytes, 0u);
  EXPECT_TRUE(stream_->take_comparisons()->empty());

  std::vector<uint64_t> on_host(pages);
  ASSERT_OK(stream_->hash_pages(on_host, recorded, Bytes(size), Bytes(page)));
  EXPECT_EQ(download<uint64_t>(expected, pages), on_host);
  EXPECT_EQ(stream_->hash_pages_to(hashes, actual, Bytes(size), Bytes(0)).code(), Code::invalid_argument);
}

TEST_F(Memory, HashesOfRangesAreComparedTogether) {
  const uint64_t page = 4096, half = 20, pages = 2 * half, size = page * half - 1000;  // the last page of each range is short
  auto bytes = random_bytes(2 * page * half);
  DevicePtr memory = upload(bytes), hashes = allocate(Bytes(8 * pages)), expected = allocate(Bytes(8 * pages));
  const MemoryRange first{memory, Bytes(size)}, second{memory + Bytes(page * half), Bytes(size)};
  const std::vector<MemoryRange> ranges = {first, {memory, Bytes(0)}, second};
  ASSERT_OK(stream_->hash_pages_to(expected, first.address, first.size, Bytes(page)));
  ASSERT_OK(stream_->hash_pages_to(expected + Bytes(8 * half), second.address, second.size, Bytes(page)));
  const uint64_t changed[] = {0, 5 * page + 3, size - 1, page * half, page * half + size - 1};
  ASSERT_OK(stream_->compare_hashes_later(hashes, expected, ranges, Bytes(page)));
  for (uint64_t at : changed) {
    const uint8_t flipped = bytes[at] ^ uint8_t(1u << at % 8);
    ASSERT_OK(stream_->fill(memory + Bytes(at), std::byte{flipped}, Bytes(1)));
    ASSERT_OK(stream_->compare_hashes_later(hashes, expected, ranges, Bytes(page)));
    ASSERT_OK(stream_->fill(memory + Bytes(at), std::byte{bytes[at]}, Bytes(1)));
  }
  // What is behind the ranges is not theirs.
  ASSERT_OK(stream_->fill(memory + Bytes(size), std::byte(~bytes[size]), Bytes(1)));
  ASSERT_OK(stream_->compare_hashes_later(hashes, expected, ranges, Bytes(page)));
  ASSERT_OK(stream_->compare_hashes_later(hashes, expected, {}, Bytes(page)));
  auto results = stream_->take_comparisons();
  ASSERT_OK(results.status());
  ASSERT_EQ(results->size(), std::size(changed) + 3);
  for (size_t i : {size_t{0}, std::size(changed) + 1, std::size(changed) + 2}) {
    EXPECT_EQ((*results)[i].differing_bytes, 0u) << i;
    EXPECT_EQ((*results)[i].first_difference, std::nullopt) << i;
  }
  for (size_t i = 0; i < std::size(changed); ++i) {
    const Comparison& found = (*results)[i + 1];
    EXPECT_GT(found.differing_bytes, 0u) << i;
    EXPECT_LE(found.differing_bytes, 8u) << "one hash differs";
    EXPECT_EQ(found.first_difference.value_or(~uint64_t{0}) / 8, changed[i] / page) << i;
  }
  EXPECT_EQ(download<uint64_t>(hashes, pages), download<uint64_t>(expected, pages)) << "they are kept";
  EXPECT_EQ(stream_->compare_hashes_later(hashes, expected, ranges, Bytes(0)).code(), Code::invalid_argument);
  ASSERT_OK(stream_->compare_later(memory, memory, Bytes(1)));
  EXPECT_EQ(stream_->take_comparisons()->size(), 1u) << "one that could not be started has no result";
}

TEST_F(Memory, AnyNumberOfComparisonsCanBeStarted) {
  std::vector<uint8_t> bytes(1000, 1);
  DevicePtr ones = upload(bytes), memory = zeros(Bytes(1000));
  for (uint64_t i = 0; i < 700; ++i) ASSERT_OK(stream_->compare_later(ones, memory, Bytes(i)));
  auto results = stream_->take_comparisons();
  ASSERT_OK(results.status());
  ASSERT_EQ(results->size(), 700u);
  for (uint64_t i = 0; i < 700; ++i) ASSERT_EQ((*results)[i].differing_bytes, i);
}

TEST_F(Memory, CopiesByList) {
  const auto bytes = random_bytes(3 << 20);
  DevicePtr from = upload(bytes), to = zeros(Bytes(bytes.size()));
  std::vector<ListedCopy> list;
  std::vector<uint8_t> expected(bytes.size());
  for (uint64_t i = 0, at = 0; at + 70000 < bytes.size(); ++i, at += 65536 + 37 * (i % 3)) {
    const uint64_t size = i % 4 == 0 ? 65536 : 100 * i, source = i % 5 == 0 ? at + 1 : at;
    list.push_back({to + Bytes(at), from + Bytes(source), Bytes(size)});
    std::copy_n(bytes.begin() + static_cast<long>(source), size, expected.begin() + static_cast<long>(at));
  }
  DevicePtr there = upload(list);
  ASSERT_OK(stream_->copy_listed(there, list.size()));
  ASSERT_OK(stream_->copy_listed(there, 0));
  EXPECT_EQ(download<uint8_t>(to, bytes.size()), expected);
}

TEST_F(Memory, GatheredRangesFollowOneAnother) {
  const auto bytes = random_bytes(5 << 20);
  const DevicePtr from = upload(bytes);
  auto pinned = device_->allocate_pinned(Bytes(bytes.size()));
  ASSERT_OK(pinned.status());
  ASSERT_EQ((*pinned)->bytes().size(), bytes.size());
  // Many short ranges, few long ones, and none.
  for (size_t step : {size_t{100'000}, size_t{2} << 20, bytes.size()}) {
    std::vector<MemoryRange> ranges;
    std::vector<uint8_t> expected;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const size_t begin = at + at % 7, size = std::min(step - 13, bytes.size() - begin);
      ranges.push_back({from + Bytes(begin), Bytes(size)});
      expected.insert(expected.end(), bytes.begin() + static_cast<long>(begin), bytes.begin() + static_cast<long>(begin + size));
    }
    const MutableByteSpan to = (*pinned)->bytes().first(expected.size());
    ASSERT_OK(stream_->gather(to, ranges));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(expected)), to)) << step;
    EXPECT_EQ(stream_->gather(to.first(expected.size() - 1), ranges).code(), Code::invalid_argument);
  }
  ASSERT_OK(stream_->gather({}, {}));
  EXPECT_EQ(device_->allocate_pinned(Bytes(0)).status().code(), Code::invalid_argument);
}

TEST_F(Memory, HashesOfRangesFollowOneAnother) {
  const auto bytes = random_bytes(300'000);
  const DevicePtr memory = upload(bytes);
  const std::vector<MemoryRange> ranges = {
      {memory + Bytes(5), Bytes(64 << 10)}, {memory + Bytes(100'000), Bytes(150'000)}, {memory, Bytes(0)}, {memory, Bytes(1)}};
  std::vector<uint64_t> hashes(1 + 3 + 0 + 1), expected(hashes.size());
  ASSERT_OK(stream_->hash_ranges(hashes, ranges, 64_KiB));
  std::span<uint64_t> rest = expected;
  for (const MemoryRange& range : ranges) {
    const size_t pages = (range.size.count + 65535) / 65536;
    ASSERT_OK(stream_->hash_pages(rest.first(pages), range.address, range.size, 64_KiB));
    rest = rest.subspan(pages);
  }
  EXPECT_EQ(hashes, expected);
  EXPECT_EQ(stream_->hash_ranges(std::span(hashes).first(4), ranges, 64_KiB).code(), Code::invalid_argument);
}

TEST_F(Memory, SharedMemoryIsTheSameWhereverItIsImported) {
  const auto bytes = random_bytes(300000);
  auto shared = device_->allocate_shared(Bytes(bytes.size()));
  ASSERT_OK(shared.status());
  EXPECT_EQ((*shared)->size(), Bytes(bytes.size()));
  auto descriptor = (*shared)->share();
  ASSERT_OK(descriptor.status());
  auto imported = device_->import_shared(*descriptor, Bytes(bytes.size()));
  ASSERT_OK(imported.status());
  ASSERT_OK(stream_->copy_to_device((*shared)->address(), std::as_bytes(std::span(bytes))));
  EXPECT_EQ(download<uint8_t>((*imported)->address(), bytes.size()), bytes);
  ASSERT_OK(stream_->synchronize());
  shared->reset();
  descriptor->close();
  EXPECT_EQ(download<uint8_t>((*imported)->address(), bytes.size()), bytes) << "the last who has it keeps it";
  auto again = (*imported)->share();
  ASSERT_OK(again.status());
  auto another = device_->import_shared(*again, Bytes(bytes.size()));
  ASSERT_OK(another.status());
  EXPECT_EQ(download<uint8_t>((*another)->address(), bytes.size()), bytes);
  EXPECT_EQ(device_->allocate_shared(Bytes(0)).status().code(), Code::invalid_argument);
}

// Ranges of addresses, of which nothing need be there.
const std::vector<MemoryRange> kTargets = {{DevicePtr(0x7a0000000000), Bytes(64)},
                                           {DevicePtr(0x7a0000000040), Bytes(1)},
                                           {DevicePtr(0x7a0000100000), 3_MiB},
                                           {DevicePtr(0x7c0000000000), Bytes(8)},
                                           {DevicePtr(0x7fff00000000), 1_GiB}};
using Marks = std::vector<uint8_t>;

TEST_F(Memory, FindsWhatWordsPointInto) {
  const auto found = [&](uint64_t word) {
    const std::vector<uint64_t> words = {1, word, ~uint64_t{0}};
    Marks marks(kTargets.size());
    const MemoryRange memory{upload(words), Bytes(24)};
    EXPECT_TRUE(stream_->find_pointers(marks, kTargets, std::array{memory}).ok());
    return marks;
  };
  EXPECT_EQ(found(0x7a0000000000), (Marks{1, 0, 0, 0, 0})) << "the first byte";
  EXPECT_EQ(found(0x7a000000003f), (Marks{1, 0, 0, 0, 0})) << "the last one";
  EXPECT_EQ(found(0x7a0000000040), (Marks{0, 1, 0, 0, 0})) << "the one behind it, which is another's";
  EXPECT_EQ(found(0x7a0000000041), (Marks{0, 0, 0, 0, 0})) << "between two";
  EXPECT_EQ(found(0x7a00003fffff), (Marks{0, 0, 1, 0, 0}));
  EXPECT_EQ(found(0x7c0000000007), (Marks{0, 0, 0, 1, 0}));
  EXPECT_EQ(found(0x7fff3fffffff), (Marks{0, 0, 0, 0, 1}));
  for (uint64_t none : {uint64_t{0}, uint64_t{0x79ffffffffff}, uint64_t{0x7fff40000000}, uint64_t{0x10007a0000000000}})
    EXPECT_EQ(found(none), Marks(kTargets.size())) << none;
}

TEST_F(Memory, PointersAreWordsThatLieWholeInTheMemory) {
  // Each word points into the last target; where one does not count, it would be the only one.
  std::vector<uint64_t> words(6, 1);
  for (size_t pointer = 0; pointer < words.size(); ++pointer) {
    std::fill(words.begin(), words.end(), 1);
    words[pointer] = 0x7fff00000000;
    DevicePtr memory = upload(words);
    for (uint64_t begin = 0; begin <= 48; ++begin)
      for (uint64_t end = begin; end <= 48; ++end) {
        Marks marks(kTargets.size());
        ASSERT_OK(stream_->find_pointers(marks, kTargets, std::array{MemoryRange{memory + Bytes(begin), Bytes(end - begin)}}));
        ASSERT_EQ(marks[4] == 1, begin <= 8 * pointer && 8 * pointer + 8 <= end) << pointer << ": " << begin << " to " << end;
      }
  }
  // What lies at no multiple of 8 is no word.
  std::vector<uint8_t> bytes(64);
  const uint64_t pointer = 0x7fff00000000;
  std::memcpy(bytes.data() + 12, &pointer, 8);
  Marks marks(kTargets.size());
  ASSERT_OK(stream_->find_pointers(marks, kTargets, std::array{MemoryRange{upload(bytes), Bytes(64)}}));
  EXPECT_EQ(marks, Marks(kTargets.size()));
}

TEST_F(Memory, FindsPointersInLargeMemoryAndAmongManyTargets) {
  std::vector<MemoryRange> targets;
  for (uint64_t i = 0; i < 5000; ++i) targets.push_back({DevicePtr(0x7a0000000000 + i * 1024), Bytes(512 + i % 3)});
  auto words = random_bytes(7 << 20);
  DevicePtr memory = upload(words), other = zeros(5_MiB);
  Marks expected(targets.size()), marks(targets.size());
  std::mt19937_64 random(7);
  std::vector<uint64_t> places = {0, 8, (7 << 20) - 8, (256 << 10) - 8, 256 << 10, (256 << 10) + 8};
  for (int i = 0; i < 300; ++i) places.push_back(random() % (7 << 17) * 8);
  for (uint64_t place : places) {
    const uint64_t word = targets[random() % targets.size()].address.address + random() % 600;
    ASSERT_OK(stream_->copy_to_device(memory + Bytes(place), std::as_bytes(std::span(&word, 1))));
  }
  for (uint64_t word : download<uint64_t>(memory, 7 << 17))
    for (size_t i = 0; i < targets.size() && word >> 40 == 0x7a; ++i) expected[i] |= targets[i].contains(DevicePtr(word));
  EXPECT_GT(std::accumulate(expected.begin(), expected.end(), 0), 50);
  ASSERT_OK(stream_->find_pointers(marks, targets, std::array{MemoryRange{other, 5_MiB}, MemoryRange{memory, 7_MiB}}));
  EXPECT_EQ(marks, expected);
  // What is marked stays so.
  std::fill(marks.begin(), marks.end(), 0);
  marks[4711] = 1;
  ASSERT_OK(stream_->find_pointers(marks, targets, std::array{MemoryRange{other, 5_MiB}}));
  EXPECT_EQ(std::accumulate(marks.begin(), marks.end(), 0), 1);
  EXPECT_EQ(marks[4711], 1);
}

TEST_F(Memory, FindsNoPointersWhereThereIsNothing) {
  Marks marks(kTargets.size()), none;
  ASSERT_OK(stream_->find_pointers(marks, kTargets, {}));
  ASSERT_OK(stream_->find_pointers(marks, kTargets, std::array{MemoryRange{DevicePtr(0x1000), Bytes(0)}}));
  ASSERT_OK(stream_->find_pointers(none, {}, std::array{MemoryRange{zeros(Bytes(64)), Bytes(64)}}));
  EXPECT_EQ(marks, Marks(kTargets.size()));
}

TEST_F(Memory, RefusesTargetsThatAreNotInOrder) {
  Marks marks(2);
  const auto find = [&](MemoryRange a, MemoryRange b, size_t count = 2) {
    return stream_->find_pointers(std::span(marks).first(count), std::array{a, b}, {}).to_string();
  };
  EXPECT_EQ(find({DevicePtr(0x2000), Bytes(8)}, {DevicePtr(0x1000), Bytes(8)}),
            "invalid_argument: finding pointers: 2 marks for 2 targets, of which one overlaps or follows that at 0x1000");
  EXPECT_EQ(find({DevicePtr(0x1000), Bytes(9)}, {DevicePtr(0x1008), Bytes(8)}),
            "invalid_argument: finding pointers: 2 marks for 2 targets, of which one overlaps or follows that at 0x1008");
  EXPECT_EQ(find({DevicePtr(0x1000), Bytes(8)}, {DevicePtr(0x1008), Bytes(8)}, 1),
            "invalid_argument: finding pointers: 1 marks for 2 targets");
}

TEST_F(Memory, RefusesAWrongNumberOfHashes) {
  std::vector<uint64_t> hashes(2);
  EXPECT_EQ(stream_->hash_pages(hashes, zeros(Bytes(9000)), Bytes(9000), Bytes(4096)).code(), Code::invalid_argument);
}

TEST_F(Memory, FreesOnlyWhatWasAllocated) {
  EXPECT_EQ(device_->free(DevicePtr(0x1230)).code(), Code::invalid_argument);
  EXPECT_EQ(device_->allocate(Bytes(uint64_t{1} << 52)).status().code(), Code::exhausted);
}

TEST_F(Memory, AddressSpacesLieExactlyWhereAsked) {
  const DevicePtr base = kDefaultAddressSpaceBase;
  auto space = device_->reserve(base, 1_GiB);
  ASSERT_OK(space.status());
  EXPECT_EQ((*space)->base(), base);
  EXPECT_EQ((*space)->size(), 1_GiB);
  auto first = (*space)->allocate(Bytes(1000)), second = (*space)->allocate(5_MiB);
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_EQ(*first, base);
  EXPECT_EQ(*second, base + Bytes(1024));
  ASSERT_OK((*space)->allocate_at(base + 100_MiB, 3_MiB));

  const auto bytes = random_bytes(5 << 20);
  ASSERT_OK(stream_->copy_to_device(*second, std::as_bytes(std::span(bytes))));
  ASSERT_OK(stream_->copy(base + 100_MiB, *second, 3_MiB));
  EXPECT_EQ(download<uint8_t>(*second, bytes.size()), bytes);
  auto same = stream_->compare(base + 100_MiB, *second, 3_MiB);
  ASSERT_OK(same.status());
  EXPECT_EQ(same->differing_bytes, 0u);

  ASSERT_OK((*space)->free(*second));
  EXPECT_EQ((*space)->free(*second).code(), Code::invalid_argument);
  // The granule that both lay in is still the first one's.
  ASSERT_OK(stream_->fill(*first, std::byte{7}, Bytes(1000)));
  EXPECT_EQ(download<uint8_t>(*first, 1000), std::vector<uint8_t>(1000, 7));
  ASSERT_OK((*space)->free(*first));
  ASSERT_OK((*space)->free(base + 100_MiB));
  ASSERT_OK(stream_->synchronize());
}

TEST_F(Memory, AReservedRangeIsNotReservedAgain) {
  auto space = device_->reserve(kDefaultAddressSpaceBase, 1_GiB);
  ASSERT_OK(space.status());
  auto second = device_->reserve(kDefaultAddressSpaceBase, 1_GiB);
  EXPECT_EQ(second.status().code(), Code::unavailable) << second.status().to_string();
  space->reset();
  EXPECT_TRUE(device_->reserve(kDefaultAddressSpaceBase, 1_GiB).ok());
}

}  // namespace
}  // namespace mneme::conformance
