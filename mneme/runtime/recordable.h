// Telling from an ELF file whether it is recordable, before it runs.
#pragma once

#include <string>
#include <vector>

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

struct ObjectFile {
  bool recordable = false;            // linked with `mneme config ldflags`
  mneme_note note{};                  // when recordable
  bool device_code = false;           // holds device code (section .nv_fatbin)
  bool dropped_device_code = false;   // was linked from relocatable device code without it (--offload-link was missing)
  std::vector<std::string> needed;    // DT_NEEDED: the shared libraries that it names
  std::vector<std::string> run_path;  // where it looks for them, DT_RPATH and DT_RUNPATH; "$ORIGIN" stands as it is written
};

// Reads an executable or shared library. invalid_argument when it is not an ELF file for this machine (a script, for example),
// corrupt when its tables reach beyond its end. `name` is what messages call it.
Result<ObjectFile> read_object_file(ByteSpan bytes, const std::string& name);

// ok when an object with this note works with this Mneme; otherwise incompatible, with what to do.
Status check_note(const mneme_note& note, const std::string& name);

}  // namespace mneme
