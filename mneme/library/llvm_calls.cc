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
#include <filesystem>
#include <string>
#include <system_error>

#include "mneme/base/code_folder.h"
#include "mneme/base/log.h"

extern "C" {
extern const char* const mneme_llvm_names[];  // of the functions, by their places in the table
extern std::atomic<void*> mneme_llvm_table[];
extern const char mneme_llvm_library[];  // the name of the library's file
void* mneme_llvm_address(uint64_t place);
}

namespace {

[[noreturn]] void fail(const std::string& reason) {
  mneme::log::error("LLVM is needed now, and {} cannot be loaded: {}", mneme_llvm_library, reason);
  std::_Exit(127);
}

// Whether the program itself has libmneme.so, with all its names. It has those of LLVM then, too, which the passes of plugins
// need.
bool is_of_program() {
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  return program && ::dlsym(program, mneme_llvm_names[0]) != nullptr;
}

// Beside libmneme.so, where an installation has it. Of a libmneme.so that was put elsewhere it is looked for as the system looks
// for libraries, and then in the prefix of the program, which may be the `mneme` that libmneme.so has started for its work.
void* open_library() {
  const int scope = is_of_program() ? RTLD_GLOBAL : RTLD_LOCAL;
  std::error_code ignored;
  const mneme::Path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string own = (mneme::code_folder() / mneme_llvm_library).string();
  const std::string of_program = (program.parent_path().parent_path() / "lib" / mneme_llvm_library).string();
  std::string reason;  // of the first that is there
  for (const std::string& file : {own, std::string(mneme_llvm_library), of_program}) {
    if (void* const library = ::dlopen(file.c_str(), RTLD_LAZY | scope)) return library;
    const char* const words = ::dlerror();
    const bool is_bare = file == mneme_llvm_library;
    const bool is_there = is_bare ? words && !std::string_view(words).starts_with(file + ": cannot open shared object file")
                                  : std::filesystem::exists(file, ignored);
    if (words && reason.empty() && is_there) reason = words;
  }
  if (!reason.empty()) fail(reason + ": install Mneme again, or the library that this names");
  fail(
      fmt::format("it is missing: {} is not there{}, and the system finds none: install Mneme again, or name the folder that has "
                  "the file by LD_LIBRARY_PATH",
                  own, of_program == own ? "" : ", nor is " + of_program));
}

}  // namespace

void* mneme_llvm_address(uint64_t place) {
  static void* const library = open_library();
  void* const function = ::dlsym(library, mneme_llvm_names[place]);
  // What the library lacks is found in libmneme.so, which it needs: the entry itself.
  Dl_info of_function{}, own{};
  ::dladdr(function, &of_function);
  ::dladdr(&mneme_llvm_table, &own);
  if (!function || of_function.dli_fbase == own.dli_fbase) fail(fmt::format("it lacks {}", mneme_llvm_names[place]));
  mneme_llvm_table[place] = function;
  return function;
}
