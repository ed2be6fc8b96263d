// What the value of an option may be, checked before it is read, in words.
//
//   app.add_option("--max", max_, "…")->check(whole_number(0));
//   app.add_option("--max-bytes", bytes_, "…")->transform(byte_size());
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace mneme::cli {

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// "'-1' is not a whole number from 0 to 3", or without "to" where there is no limit.
CLI::Validator whole_number(uint64_t least, uint64_t most = kNoLimit);
// "'x' is not a number from 0.002 to 1024 (GiB)"; `unit` may be empty.
CLI::Validator number(double least, double most, const std::string& unit);
// Replaces a size like 64K, 1.5G or 20MiB by its bytes; K, M, G and T are powers of 1024.
CLI::Validator byte_size();
// "'x' does not begin a hash: …"; in lower case.
CLI::Validator hash_digits();

}  // namespace mneme::cli
