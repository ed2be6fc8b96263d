// Texts as the bytes of files, and back.
#pragma once

#include <span>
#include <string_view>

#include "mneme/base/types.h"

namespace mneme {

inline ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view text_of(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace mneme
