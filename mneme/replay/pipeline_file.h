// Pass pipelines that are kept in files.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// The pipeline that `text` spells over several lines: # begins a comment, which the line's end ends; white space beside
// punctuation is dropped, and is one space elsewhere, where it is an error of LLVM's parser.
std::string fold_pipeline(std::string_view text);

// The pipeline in a file. not_found, io; invalid_argument: there is nothing but comments in it.
Result<std::string> read_pipeline(FileSystem& files, const std::string& path);

}  // namespace mneme
