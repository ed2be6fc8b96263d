// The stages of `mneme ir --stage`, and what people call them who know other tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mneme::cli {

// "recorded", "specialised", "optimised", "asm", "sass", in the order of compilation.
const std::vector<std::string>& ir_stages();

// The stage that somebody means who says "ptx" or "disassemble"; empty where it is none.
std::string_view stage_meant_by(std::string_view word);

// Why that is no stage, with what may be meant: another stage, an option, a command. Empty where it is one.
std::string check_stage(const std::string& word);

}  // namespace mneme::cli
