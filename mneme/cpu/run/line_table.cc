#include "mneme/cpu/run/line_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mneme::cpu {
namespace {

constexpr uint64_t kMagic = 0x73656e696c656d6e;  // "nmelines"

struct Footer {
  uint64_t rows;        // how many
  uint64_t name_bytes;  // of the files, each ended by a zero
  uint64_t magic;
};

template <typename T>
void append(ByteVector& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

template <typename T>
T read(ByteSpan bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::string> name_of(ByteSpan names, uint32_t file) {
  const auto* at = reinterpret_cast<const char*>(names.data());
  const char* end = at + names.size();
  for (;; --file) {
    const char* zero = std::find(at, end, '\0');
    if (zero == end) return std::nullopt;
    if (file == 0) return std::string(at, zero);
    at = zero + 1;
  }
}

}  // namespace

void append_lines(ByteVector& image, const LineTable& table) {
  for (const LineTable::Row& row : table.rows) append(image, row);
  uint64_t name_bytes = 0;
  for (const std::string& file : table.files) {
    const auto bytes = std::as_bytes(std::span(file.c_str(), file.size() + 1));
    image.insert(image.end(), bytes.begin(), bytes.end());
    name_bytes += bytes.size();
  }
  append(image, Footer{table.rows.size(), name_bytes, kMagic});
}

std::optional<std::string> find_line(ByteSpan image, uint64_t address) {
  if (image.size() < sizeof(Footer)) return std::nullopt;
  uint64_t left = image.size() - sizeof(Footer);
  const auto footer = read<Footer>(image, left);
  if (footer.magic != kMagic || footer.name_bytes > left) return std::nullopt;
  left -= footer.name_bytes;
  if (footer.rows > left / sizeof(LineTable::Row)) return std::nullopt;
  const uint64_t begin = left - footer.rows * sizeof(LineTable::Row);
  const auto row = [&](uint64_t i) { return read<LineTable::Row>(image, begin + i * sizeof(LineTable::Row)); };
  uint64_t low = 0, high = footer.rows;  // the first row beyond the address
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (row(middle).address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || row(low - 1).line == 0) return std::nullopt;
  auto name = name_of(image.subspan(left, footer.name_bytes), row(low - 1).file);
  if (!name) return std::nullopt;
  return fmt::format("{}:{}", *name, row(low - 1).line);
}

}  // namespace mneme::cpu
