// PageablePointers: where a launch held addresses of pageable memory of the host. That is memory of malloc, the stack or mmap,
// which no call of the vendor has allocated or registered, which some devices reach all the same, and which is not recorded.
//
// A recording has it as an attribute of the launch, which is missing where there were no such addresses, and where the device
// does not reach such memory. It is no proof that the kernel reads there: many structs carry pointers that are the host's alone.
#pragma once

#include <map>
#include <string>

namespace mneme {

struct PageablePointers {
  bool in_parameters = false;  // within a struct, or in an integer: a launch that is given a plain pointer there is not recorded
  bool in_memory = false;      // that it is recorded with, or in variables
  friend bool operator==(const PageablePointers&, const PageablePointers&) = default;
};

inline constexpr char kPageablePointers[] = "pageable_pointers";

// "parameters", "memory", "parameters, memory", or nothing, as the attribute and results have it.
std::string to_string(const PageablePointers& pointers);
// Adds the attribute where there are some.
void put_pageable_pointers(const PageablePointers& pointers, std::map<std::string, std::string>& attributes);
// The attribute's text; empty where it is missing.
std::string pageable_pointers_in(const std::map<std::string, std::string>& attributes);
// For a person: "its memory holds addresses of host memory that was not recorded (of malloc, the stack or mmap)". Empty for an
// empty text.
std::string describe_pageable_pointers(const std::string& text);

}  // namespace mneme
