// One run of the program ptxas. Finding and naming it needs no LLVM, and this does.
#pragma once

#include <span>
#include <string>

namespace mneme::nvptx {

// Runs `program` with nothing to read, its output and its errors written to the file `printed`, and waits for it. Returns its
// exit status; a negative number: it did not start, or did not run to its end, and `words` say why.
int run_ptxas(const std::string& program, std::span<const std::string> arguments, const std::string& printed, std::string& words);

}  // namespace mneme::nvptx
