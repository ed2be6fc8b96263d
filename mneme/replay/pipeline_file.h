// Pass pipelines that are kept in files.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// The pipeline on one line that `text` spells over several: "sroa,  # promotes memory\n instcombine" gives "sroa,instcombine". A
// # begins a comment that ends with its line. White space beside punctuation is dropped. Elsewhere it becomes one space, which
// LLVM's parser refuses.
std::string fold_pipeline(std::string_view text);

// Reads the pipeline in a file. not_found, io: the file cannot be read. invalid_argument: it has nothing but comments.
Result<std::string> read_pipeline(FileSystem& files, const std::string& path);

}  // namespace mneme
