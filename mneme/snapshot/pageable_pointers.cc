#include "mneme/snapshot/pageable_pointers.h"

#include <fmt/format.h>

namespace mneme {
namespace {

constexpr char kParameters[] = "parameters", kMemory[] = "memory";

}  // namespace

std::string to_string(const PageablePointers& pointers) {
  const bool both = pointers.in_parameters && pointers.in_memory;
  return fmt::format("{}{}{}", pointers.in_parameters ? kParameters : "", both ? ", " : "", pointers.in_memory ? kMemory : "");
}

void put_pageable_pointers(const PageablePointers& pointers, std::map<std::string, std::string>& attributes) {
  if (pointers != PageablePointers()) attributes[kPageablePointers] = to_string(pointers);
}

std::string pageable_pointers_in(const std::map<std::string, std::string>& attributes) {
  const auto found = attributes.find(kPageablePointers);
  return found == attributes.end() ? std::string() : found->second;
}

std::string describe_pageable_pointers(const std::string& text) {
  if (text.empty()) return {};
  return fmt::format("its {} addresses of host memory that was not recorded (of malloc, the stack or mmap)",
                     text == to_string(PageablePointers{true, true}) ? "arguments and its memory hold"
                     : text == kParameters                           ? "arguments hold"
                                                                     : "memory holds");
}

}  // namespace mneme
