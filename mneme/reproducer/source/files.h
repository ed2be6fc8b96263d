// The ends that a program comes to, and its files.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using Content = std::vector<unsigned char>;

[[noreturn]] inline void fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(2);
}

inline Content read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  Content content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) fail(name, "it cannot be read");
  return content;
}
