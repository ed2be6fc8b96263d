// Names in the text of a pass pipeline, found without LLVM.
#pragma once

#include <string_view>

namespace mneme {

// Where `name` stands as a whole name in the pipeline, from `from` on; npos: nowhere.
size_t find_pass_name(std::string_view pipeline, std::string_view name, size_t from = 0);

}  // namespace mneme
