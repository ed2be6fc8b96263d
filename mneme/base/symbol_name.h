// A function's name as its author wrote it.
#pragma once

#include <string>

namespace mneme {

// "axpy(float, float const*, float*, int)" for "_Z4axpyfPKfPfi"; a symbol that is not mangled stays as it is.
std::string demangle(const std::string& symbol);

}  // namespace mneme
