// What LLVM was doing when its process crashed: the process that crashes writes it, and another one reads it.
#pragma once

#include <string>
#include <string_view>

namespace mneme {

// From now on, if a signal ends this process, it first writes to standard error which passes were running.
void write_words_when_crashing();

// What is read from the standard error of such a process.
struct CrashWords {
  std::string pass;    // the innermost pass that was running: "pass \"gvn\" on function \"saxpy\""; empty where none was
  std::string before;  // what was written before it crashed
};
CrashWords read_crash_words(std::string_view written);

}  // namespace mneme
