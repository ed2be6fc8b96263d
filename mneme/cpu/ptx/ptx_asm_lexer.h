// Divides inline PTX into tokens. ptx_asm.h tells what dollar signs mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::ptx {

struct Token {
  enum class Kind { end, identifier, argument, integer, real32, real64, string, punctuation };
  Kind kind = Kind::end;
  std::string text;           // identifier ("%tid" keeps its %), punctuation
  uint64_t value = 0;         // argument's index, integer's value, bits of a real
  size_t begin = 0, end = 0;  // in the source
};

// The tokens of `text`, with one of kind `end` behind them. `unique` is what ${:uid} stands for. An identifier that follows a
// dot may begin with a digit and may hold "::", as in ".L2::128B". invalid_argument: something is no token.
Result<std::vector<Token>> tokenize(std::string_view text, unsigned unique);

}  // namespace mneme::ptx
