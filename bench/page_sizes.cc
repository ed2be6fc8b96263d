// How small pages of 64 KiB become, and how much of them a core takes in a second, by ways to store them.
//
//   c++ -std=c++20 -O2 -o page_sizes bench/page_sizes.cc -lfmt -lzstd && ./page_sizes FILE...
//
// A file is memory as a program had it, a vector of doubles for example; what is no whole page at its end is left out. For each
// file a line of JSON: of each way its size before over its size after, and MB of pages a second of processor time, the better
// of two rounds. A page that a way makes smaller by less than a thirty-second counts as it is, as in a pack. "shuffled": the
// bytes of eight-byte elements by their place in the element; then zstd, by its level.
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Page = std::vector<char>;
constexpr size_t kPage = 65536;
constexpr size_t kElements = kPage / sizeof(uint64_t);

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of a square of eight by eight bytes, each element a row.
void transpose(uint64_t (&rows)[8]) {
  const auto exchange = [&](size_t distance, unsigned bits, uint64_t mask) {
    for (size_t i = 0; i < 8; ++i) {
      if (i & distance) continue;
      const uint64_t differ = ((rows[i] >> bits) ^ rows[i + distance]) & mask;
      rows[i + distance] ^= differ;
      rows[i] ^= differ << bits;
    }
  };
  exchange(4, 32, 0x00000000ffffffff);
  exchange(2, 16, 0x0000ffff0000ffff);
  exchange(1, 8, 0x00ff00ff00ff00ff);
}

void shuffle(const char* from, char* to) {
  for (size_t i = 0; i < kElements; i += 8) {
    uint64_t rows[8];
    std::memcpy(rows, from + i * sizeof(uint64_t), sizeof rows);
    transpose(rows);
    for (size_t byte = 0; byte < 8; ++byte) std::memcpy(to + byte * kElements + i, &rows[byte], sizeof(uint64_t));
  }
}

void unshuffle(const char* from, char* to) {
  for (size_t i = 0; i < kElements; i += 8) {
    uint64_t rows[8];
    for (size_t byte = 0; byte < 8; ++byte) std::memcpy(&rows[byte], from + byte * kElements + i, sizeof(uint64_t));
    transpose(rows);
    std::memcpy(to + i * sizeof(uint64_t), rows, sizeof rows);
  }
}

size_t compressed(const char* page, int level) {
  static ZSTD_CCtx* const context = ZSTD_createCCtx();
  static Page out(ZSTD_compressBound(kPage));
  const size_t size = ZSTD_compressCCtx(context, out.data(), out.size(), page, kPage, level);
  return ZSTD_isError(size) || size + size / 32 >= kPage ? kPage : size;
}

struct Way {
  std::string name;
  std::function<size_t(const char* page)> size;
};

std::vector<Way> ways() {
  static Page shuffled(kPage);
  std::vector<Way> all = {{"shuffled alone", [](const char* page) { return shuffle(page, shuffled.data()), kPage; }},
                          {"and back alone", [](const char* page) { return unshuffle(page, shuffled.data()), kPage; }}};
  for (const int level : {1, 3, -1, -5}) {
    all.push_back({fmt::format("zstd {}", level), [level](const char* page) { return compressed(page, level); }});
    all.push_back({fmt::format("shuffled, zstd {}", level), [level](const char* page) {
                     shuffle(page, shuffled.data());
                     return compressed(shuffled.data(), level);
                   }});
  }
  return all;
}

std::string measure(const Way& way, const Page& memory) {
  double seconds = 0;
  size_t size = 0;
  for (int round = 0; round < 2; ++round) {
    size = 0;
    const double begin = processor_seconds();
    for (size_t at = 0; at + kPage <= memory.size(); at += kPage) size += way.size(memory.data() + at);
    const double took = processor_seconds() - begin;
    seconds = round == 0 ? took : std::min(seconds, took);
  }
  const auto bytes = static_cast<double>(memory.size() / kPage * kPage);
  return fmt::format(R"("{}": {{"smaller": {:.3f}, "mb_s": {:.0f}}})", way.name, bytes / static_cast<double>(size),
                     bytes / seconds / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "page_sizes FILE...\n"), 2;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const Page memory{std::istreambuf_iterator<char>(file), {}};
    if (memory.size() < kPage) return fmt::print(stderr, "{}: it has no page of {} bytes\n", argv[i], kPage), 1;
    std::vector<std::string> results;
    for (const Way& way : ways()) results.push_back(measure(way, memory));
    fmt::print("{{\"file\": \"{}\", {}}}\n", argv[i], fmt::join(results, ", "));
  }
}
