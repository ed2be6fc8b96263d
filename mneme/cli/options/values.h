// Validators of options' values, which refuse a value in words before it is read.
//
//   app.add_option("--max", max_, "…")->check(whole_number(0));
//   app.add_option("--max-bytes", bytes_, "…")->transform(byte_size());
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace mneme::cli {

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Takes a whole number. Refuses others as "'-1' is not a whole number from 0 to 3", without "to 3" where there is no limit.
CLI::Validator whole_number(uint64_t least, uint64_t most = kNoLimit);
// The same, or takes `all`, and replaces it by kNoLimit. Refuses others as "'0' is not a whole number from 1, nor all".
CLI::Validator whole_number_or_all(uint64_t least);
// Takes a number. Refuses others as "'x' is not a number from 0.002 to 1024 (GiB)"; `unit` may be empty.
CLI::Validator number(double least, double most, const std::string& unit);
// Takes a size like 64K, 1.5G or 20MiB, and replaces it by the number of bytes. K, M, G and T are powers of 1024.
CLI::Validator byte_size();
// Takes the first digits of a hash, and puts them in lower case. Refuses others as "'x' does not begin a hash: …".
CLI::Validator hash_digits();

}  // namespace mneme::cli
