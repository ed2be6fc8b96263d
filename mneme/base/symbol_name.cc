#include "mneme/base/symbol_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace mneme {

std::string demangle(const std::string& symbol) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : symbol;
}

}  // namespace mneme
