// The first call of a function that is in libmneme_llvm.so loads that library, and with it LLVM. libmneme.so has an entry of each
// such function, which jumps through a table (cmake/generate_llvm_calls.py); an element of the table leads here until its
// function was looked up.
//
// A library that is missing, or that does not fit, ends the process with 127, as the system's loader does with those that it
// loads when the process starts.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mneme/base/code_folder.h"
#include "mneme/base/log.h"

extern "C" {
extern const char* const mneme_llvm_names[];  // of the functions, by their places in the table
extern std::atomic<void*> mneme_llvm_table[];
extern const char mneme_llvm_library[];  // the name of the library's file
void* mneme_llvm_address(uint64_t place);
}

namespace {

[[noreturn]] void fail() {
  const char* reason = ::dlerror();
  mneme::log::error("LLVM is needed now, and {} cannot be loaded: {}", mneme_llvm_library,
                    reason ? reason : "no reason is known");
  std::_Exit(127);
}

// Whether the program itself has libmneme.so, with all its names. It has those of LLVM then, too, which the passes of plugins
// need.
bool is_of_program() {
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  return program && ::dlsym(program, mneme_llvm_names[0]) != nullptr;
}

void* open_library() {
  const std::string path = (mneme::code_folder() / mneme_llvm_library).string();
  void* library = ::dlopen(path.c_str(), RTLD_LAZY | (is_of_program() ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library) fail();
  return library;
}

}  // namespace

void* mneme_llvm_address(uint64_t place) {
  static void* const library = open_library();
  void* const function = ::dlsym(library, mneme_llvm_names[place]);
  if (!function) fail();
  mneme_llvm_table[place] = function;
  return function;
}
