// A word as it has to be written in a shell.
#pragma once

#include <string>
#include <string_view>

namespace mneme {

// The word itself where no character of it means anything to a shell, else the word in single quotes. Examples: scale,
// 'scale<float>', 'it'\''s'.
std::string shell_word(std::string_view word);

}  // namespace mneme
