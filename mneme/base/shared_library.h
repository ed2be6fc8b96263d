// SharedLibrary: a library that is opened at run time, so that one build runs with it and without it, such as a GPU vendor's
// driver, profiler or assembler.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// A function of the library, and the pointer that is to be set to it.
struct LibraryFunction {
  const char* name;
  void** function;
};

// Is never closed: vendors' libraries keep threads, callbacks and exit handlers of their own.
class SharedLibrary {
 public:
  // `flags` are those of dlopen() beside RTLD_NOW. unavailable, in the loader's words: it does not open.
  static Result<SharedLibrary> open(const std::string& name, int flags = RTLD_LOCAL);
  // The first of `names` that opens and has all the functions, whose pointers it sets. unavailable: none does; the message is the
  // reason of each, with "; " between.
  static Result<SharedLibrary> open_first(std::span<const std::string> names, std::initializer_list<LibraryFunction> functions,
                                          int flags = RTLD_LOCAL);

  const std::string& name() const { return name_; }  // that it was opened under
  std::string file() const;                          // that the loader has opened

  // Null: the library lacks the function.
  void* find(const char* function) const { return ::dlsym(handle_, function); }
  // Sets all the pointers. unavailable: the library lacks one of the functions, whose name the message has.
  Status find_all(std::initializer_list<LibraryFunction> functions) const;

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;
  void* handle_;
};

// What to open a library as that has one of `names`: the files of the folders that have it, then the bare names, by which the
// loader looks where it always does.
std::vector<std::string> library_paths(std::span<const Path> folders, std::initializer_list<const char*> names);

}  // namespace mneme
