// A word as a shell takes it.
#pragma once

#include <string>
#include <string_view>

namespace mneme {

// As it is, where no character of it means anything to a shell; else in single quotes: scale, 'scale<float>', 'it'\''s'.
std::string shell_word(std::string_view word);

}  // namespace mneme
