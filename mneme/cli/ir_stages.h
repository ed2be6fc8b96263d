// The stages of `mneme ir --stage`, and the names that people may know them by from other tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mneme::cli {

// "recorded", "specialised", "optimised", "asm", "sass", in the order of compilation.
const std::vector<std::string>& ir_stages();

// The stage that somebody means by a word: "asm" by "ptx", "sass" by "disassemble", each by its own name. Empty: none is meant.
std::string_view stage_meant_by(std::string_view word);

// Empty where `word` is a stage. Otherwise a message that says so, with what may be meant: another stage, an option, a command.
std::string check_stage(const std::string& word);

}  // namespace mneme::cli
