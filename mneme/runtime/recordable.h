// Finds out from an ELF file whether the program in it is recordable, before it runs.
#pragma once

#include <string>
#include <vector>

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/runtime/runtime_calls.h"

namespace mneme {

struct ObjectFile {
  bool recordable = false;              // linked with `mneme config ldflags`
  mneme_note note{};                    // the object's note, where it is recordable
  const RuntimeCalls* calls = nullptr;  // the runtime that it calls, where it is recordable
  bool loaded_dynamically = true;       // names a dynamic loader, which preloads libraries; true where that cannot be told
  bool device_code = false;             // holds device code (sections .nv_fatbin, .hip_fatbin)
  bool dropped_device_code = false;     // should hold device code and does not: it was linked without --offload-link
  std::vector<std::string> needed;      // the shared libraries that it names (DT_NEEDED)
  std::vector<std::string> run_path;    // where it looks for them (DT_RPATH, DT_RUNPATH); "$ORIGIN" is not replaced
};

// Reads an executable or shared library. invalid_argument when it is not an ELF file for this machine (a script, for example),
// corrupt when its tables reach beyond its end. `name` is what messages call it.
Result<ObjectFile> read_object_file(ByteSpan bytes, const std::string& name);

// ok when an object that calls this runtime and has this note works with this Mneme; otherwise incompatible, or unsupported where
// Mneme was built without that runtime, and the message says what to do. `name` is what the message calls the object.
Status check_note(const mneme_note& note, const std::string& name, const RuntimeCalls& calls = cuda_runtime_calls());

}  // namespace mneme
