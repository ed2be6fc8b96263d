// The rates of recording and verification on one device: bytes and elements compared, pages hashed and pointers found, beside the
// copy bandwidth of the same run.
//
//   mneme-bench-verify [--device cuda|cpu] [--largest GiB]
//
// Rates count what is read and written: a comparison reads both buffers, a copy reads one and writes the other, hashing
// and finding pointers read one. Each figure is
// the median of several calls, each until the host knows the result. The compared buffers differ in the last bits of every
// element where that is said, else they are equal.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "mneme/device/device.h"

namespace mneme {
namespace {

struct Options {
  DeviceKind kind = DeviceKind::cuda;
  Bytes largest = 6_GiB;
};

struct Buffers {
  DevicePtr actual, recorded;
};

// Bytes a second of the median of `calls`, each of which touches `bytes`.
Result<double> rate(Bytes bytes, const std::function<Status()>& call) {
  constexpr int kCalls = 7;
  std::vector<double> seconds;
  MNEME_TRY(call());
  for (int i = 0; i < kCalls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    MNEME_TRY(call());
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kCalls / 2, seconds.end());
  return static_cast<double>(bytes.count) / seconds[kCalls / 2];
}

// Fills both with a tile that is repeated: in f16, f32 and f64 each element of the two differs in its lowest bit.
Status fill_near(Stream& stream, const Buffers& buffers, Bytes size, Bytes element) {
  constexpr uint64_t kTile = 32 << 20;
  std::mt19937_64 random(1);
  ByteVector recorded(kTile), actual(kTile);
  for (uint64_t at = 0; at < kTile; at += element.count) {
    // A value of moderate size: the exponent's highest bits are those of one.
    const uint64_t exponent = element.count == 8 ? 0x3fe : element.count == 4 ? 0x3f0 : 0x3c0;
    uint64_t bits = exponent << (8 * element.count - 12);
    bits |= random() & ((uint64_t{1} << (8 * element.count - 12)) - 2);
    std::memcpy(&recorded[at], &bits, element.count);
    bits |= 1;
    std::memcpy(&actual[at], &bits, element.count);
  }
  for (uint64_t at = 0; at < size.count; at += kTile) {
    const uint64_t count = std::min(kTile, size.count - at);
    MNEME_TRY(stream.copy_to_device(buffers.recorded + Bytes(at), ByteSpan(recorded).first(count)));
    MNEME_TRY(stream.copy_to_device(buffers.actual + Bytes(at), ByteSpan(actual).first(count)));
  }
  return {};
}

void print(const std::string& what, Bytes size, uint64_t elements, double bandwidth, double copy) {
  fmt::print("{:<34} {:>10} {:>14} {:>12.1f} {:>7.0f} %\n", what, format_bytes(size), elements, bandwidth / 1e9,
             100 * bandwidth / copy);
  std::fflush(stdout);
}

Status see_elements(Stream& stream, const Buffers& buffers, Bytes size, ElementType type, bool near, Norm norm, double copy) {
  const ElementComparison how{type, near ? 1e-2 : 0.0, ErrorKind::relative, norm};
  uint64_t failing = 0;
  MNEME_ASSIGN(double bandwidth, rate(size + size, [&]() -> Status {
                 MNEME_ASSIGN(ElementDifferences differences,
                              stream.compare_elements(buffers.actual, buffers.recorded, size, how));
                 failing += differences.failing + !differences.within;
                 return {};
               }));
  if (failing != 0) return error(Code::internal, "comparing {} of {}: {} elements fail", size, to_string(type), failing);
  print(fmt::format("{} relative{}{}", to_string(type), norm == Norm::none ? "" : ", " + std::string(to_string(norm)),
                    near ? ", all differ" : ""),
        size, size.count / size_of(type).count, bandwidth, copy);
  return {};
}

// Among a thousand ranges, of memory in which no word is a pointer, and of memory in which every word is.
Status see_pointers(Stream& stream, const Buffers& buffers, Bytes size, double copy) {
  std::vector<MemoryRange> targets;
  for (uint64_t i = 0; i < 1000; ++i) targets.push_back({DevicePtr(0x7a0000000000 + (i << 21)), 1_MiB});
  std::vector<uint64_t> tile(4 << 20);
  std::mt19937_64 random(2);
  for (const bool all : {false, true}) {
    for (uint64_t& word : tile)
      word = all ? targets[random() % targets.size()].address.address + random() % 1000 : 0x3f8000003f800000;
    constexpr Bytes kTile = 32_MiB;
    for (Bytes at; at < size; at += kTile)
      MNEME_TRY(
          stream.copy_to_device(buffers.actual + at, std::as_bytes(std::span(tile)).first(std::min(kTile, size - at).count)));
    std::vector<uint8_t> marks(targets.size());
    const MemoryRange memory{buffers.actual, size};
    MNEME_ASSIGN(double words, rate(size, [&] { return stream.find_pointers(marks, targets, {&memory, 1}); }));
    if (marks[0] != all) return error(Code::internal, "finding pointers among {}: {}", size, marks[0]);
    print(all ? "pointers, every word is one" : "pointers, no word is one", size, size.count / 8, words, copy);
  }
  return {};
}

Status see_size(Stream& stream, const Buffers& buffers, Bytes size) {
  MNEME_ASSIGN(double copy, rate(size + size, [&]() -> Status {
                 MNEME_TRY(stream.copy(buffers.actual, buffers.recorded, size));
                 return stream.synchronize();
               }));
  print("copy", size, size.count, copy, copy);
  MNEME_ASSIGN(double bytes, rate(size + size, [&]() -> Status {
                 MNEME_ASSIGN(Comparison comparison, stream.compare(buffers.actual, buffers.recorded, size));
                 return comparison.differing_bytes == 0 ? Status() : error(Code::internal, "equal bytes differ");
               }));
  print("bytes", size, size.count, bytes, copy);
  std::vector<uint64_t> hashes(size.count >> 16);
  MNEME_ASSIGN(double hashed, rate(size, [&] { return stream.hash_pages(hashes, buffers.actual, size, 64_KiB); }));
  print("hashes of pages", size, hashes.size(), hashed, copy);
  for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::u8})
    MNEME_TRY(see_elements(stream, buffers, size, type, false, Norm::none, copy));
  for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16}) {
    MNEME_TRY(fill_near(stream, buffers, size, size_of(type)));
    MNEME_TRY(see_elements(stream, buffers, size, type, true, Norm::none, copy));
    MNEME_TRY(see_elements(stream, buffers, size, type, true, Norm::l2, copy));
  }
  MNEME_TRY(see_pointers(stream, buffers, size, copy));
  return {};
}

Status run(const Options& options) {
  MNEME_ASSIGN(auto device, Device::open(options.kind));
  MNEME_ASSIGN(auto stream, device->create_stream());
  fmt::print("{}, {} of memory\n\n{:<34} {:>10} {:>14} {:>12} {:>9}\n", device->properties().name,
             device->properties().total_memory, "", "size", "elements", "GB/s", "of copy");
  for (Bytes size : {64_MiB, 256_MiB, 1_GiB, 4_GiB + 64_MiB, 6_GiB}) {
    if (size > options.largest || size + size > device->properties().total_memory) continue;
    Buffers buffers;
    MNEME_ASSIGN(buffers.actual, device->allocate(size));
    MNEME_ASSIGN(buffers.recorded, device->allocate(size));
    MNEME_TRY(fill_near(*stream, buffers, size, Bytes(4)));
    MNEME_TRY(see_size(*stream, buffers, size));
    MNEME_TRY(device->free(buffers.actual));
    MNEME_TRY(device->free(buffers.recorded));
    fmt::print("\n");
  }
  return {};
}

Result<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    if (name == "--device") {
      MNEME_ASSIGN(options.kind, parse_device_kind(value));
    } else if (name == "--largest" && std::atof(value.c_str()) > 0) {
      options.largest = Bytes(static_cast<uint64_t>(std::atof(value.c_str()) * (uint64_t{1} << 30)));
    } else {
      return error(Code::invalid_argument, "it is used as: mneme-bench-verify [--device cuda|cpu] [--largest GiB]");
    }
  }
  return options;
}

}  // namespace
}  // namespace mneme

int main(int count, char** arguments) {
  auto options = mneme::parse(count, arguments);
  mneme::Status status = options.ok() ? mneme::run(*options) : options.status();
  if (status.ok()) return 0;
  fmt::print(stderr, "mneme-bench-verify: {}\n", status.message());
  return status.code() == mneme::Code::unavailable ? 77 : 2;
}
