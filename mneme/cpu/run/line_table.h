// LineTable: the source lines that an image's code was made from. A fault can thus name its line in a process that reads no
// debug information. The table lies behind the shared object, in the image's bytes:
//
//   shared object | rows | file names, each with a zero behind it | footer     (little-endian)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme::cpu {

struct LineTable {
  // The instructions from `address` to before the next row's address come from this line.
  struct Row {
    uint64_t address;  // in the image
    uint32_t file;     // index into `files`
    uint32_t line;     // from 1 on; 0: no line
  };
  std::vector<Row> rows;  // in the order of addresses
  std::vector<std::string> files;
};

// Appends the table to an image that has none.
void append_lines(ByteVector& image, const LineTable& table);

// The line that the instruction at `address` of the image comes from: "saxpy.cu:12". Nothing where the image has no table or a
// damaged one, or the instruction has no line, for example since LLVM made it of several.
std::optional<std::string> find_line(ByteSpan image, uint64_t address);

}  // namespace mneme::cpu
