// What folders of sources (make_source.h) have of their own for each vendor's GPUs: names of files and tools.
#pragma once

#include <string_view>

#include "mneme/device/code_image.h"

namespace mneme {

struct SourceVendor {
  DeviceKind kind;
  std::string_view translated;   // the file that the assembler or the linker takes: "kernel.ptx"
  std::string_view code;         // what it makes of that: "kernel.cubin"
  std::string_view assembly;     // a file of assembly beside them, for people; empty: what is translated is text
  std::string_view llc;          // of llc, as it makes the translated file: "-filetype=obj"; empty: nothing
  std::string_view tool;         // for people: "ptxas"
  std::string_view variable;     // of make, which names the tool: "PTXAS"
  bool links;                    // the tool is LLVM's own linker, of the version of opt and llc
  std::string_view definitions;  // of make: where the vendor's headers and tools are
  std::string_view compiling;    // what the host's compiler is given
  std::string_view linking;      // and its linker
};

// Null: no sources are made for the kind.
const SourceVendor* find_source_vendor(DeviceKind kind);

}  // namespace mneme
