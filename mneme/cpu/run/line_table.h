// The lines of source that an image's code was made from, behind the shared object in the image's bytes: so that a fault can name
// its line in a process that reads no debug information.
//
//   shared object | rows | file names | footer     (little-endian; a row counts from its address to that of the next one)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

struct LineTable {
  struct Row {
    uint64_t address;  // in the image
    uint32_t file;     // of `files`
    uint32_t line;     // 0: none
  };
  std::vector<Row> rows;  // in order of their addresses
  std::vector<std::string> files;
};

void append_lines(ByteVector& image, const LineTable& table);

// "saxpy.cu:12": where the instruction at `address` of the image comes from. Nothing for an image without lines, an instruction
// that has none, as one that LLVM made of several, and a damaged table.
std::optional<std::string> find_line(ByteSpan image, uint64_t address);

}  // namespace mneme::cpu
