// The tokens of inline PTX. See ptx_asm.h for what dollar signs mean.
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

// An identifier that follows a dot may begin with a digit and may hold "::" (".L2::128B"): it is lexed as one.
Result<std::vector<Token>> tokenize(std::string_view text, unsigned unique);

}  // namespace mneme::ptx
