// The text of the files of a folder of sources (make_source.h) that are not the same for every launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/compile/tool_commands.h"
#include "mneme/device/device.h"
#include "mneme/reproducer/launch_parts.h"
#include "mneme/reproducer/source_memory.h"
#include "mneme/reproducer/source_vendor.h"

namespace mneme {

// Where the code of a folder is from, and what its Makefile can do with it.
struct SourceCode {
  const SourceVendor* vendor = nullptr;
  std::string pipeline;                          // for people: "as-built: default<O2>"
  std::string architecture;                      // "sm_90"
  std::string assembler;                         // CompiledCode::assembler
  std::optional<ToolCommands> tools;             // nothing: the kernel was recorded without IR
  std::vector<std::string> assembler_arguments;  // for the vendor's tool; empty: the code is the program's own machine code
  std::string translated;                        // what the tool is given; empty: there is nothing
  ByteVector image;                              // the machine code; empty: no assembler was there
};

struct SourceLaunch {
  const KernelRecord& kernel;
  const InstanceRecord& instance;
  LaunchShape shape;
  const LaunchPieces& pieces;
  const SourceMemory& memory;
  std::string memory_words;  // for people: how much is there, and how much was left out
  std::string masked_words;  // likewise, how much of it is masked
};

// launch.h
std::string launch_header(const SourceLaunch& launch, const SourceCode& code);
// Makefile
std::string makefile(const KernelRecord& kernel, const SourceCode& code);

// A text as a literal of C++, whatever is in it.
std::string c_literal(std::string_view text);
// A word of a shell's command in a recipe of make, whatever is in it.
std::string recipe_word(std::string_view text);

}  // namespace mneme
