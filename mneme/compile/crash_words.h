// What LLVM was doing when its process crashed, told by that process and read by another.
#pragma once

#include <string>
#include <string_view>

namespace mneme {

// From now on this process, when a signal ends it, writes which passes were running to standard error.
void write_words_when_crashing();

// Of what such a process has written.
struct CrashWords {
  std::string pass;    // "pass \"gvn\" on function \"saxpy\"": the innermost that was running; empty where none was
  std::string before;  // what was written before it crashed
};
CrashWords read_crash_words(std::string_view written);

}  // namespace mneme
