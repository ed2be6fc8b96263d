// The files of a folder of sources that are the same for every launch on a kind of device: mneme/reproducer/source, and
// element_math.h.
#pragma once

#include <span>
#include <string_view>

namespace mneme {

struct SourceFile {
  std::string_view kind;  // of device, "cuda"; empty: the file is the same for all
  std::string_view name, text;
};
std::span<const SourceFile> source_files();

}  // namespace mneme
