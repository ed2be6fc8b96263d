// Making programs: one recorded launch, compiled under a configuration, as an executable that needs nothing of Mneme
// (mneme/exported/program_file.h). What is written is run once from its file, and told whether it was right.
#pragma once

#include <functional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/exported/description.h"
#include "mneme/replay/configuration.h"
#include "mneme/store/database.h"

namespace mneme {

enum class ProgramMemory {
  touched,  // that the recorded kernel reads or writes
  whole,    // all that was recorded
};

struct ProgramRequest {
  const Database& database;
  Digest static_hash, dynamic_hash;
  Configuration configuration;
  ProgramMemory memory = ProgramMemory::touched;
  Path runner;  // lib/mneme/program
  Path output;
};

struct MadeProgram {
  ProgramDescription description;
  Bytes size;             // of the file
  bool verified = false;  // what the program has found when it was run
};

// `progress` is called with what is done next. Where a launch without the memory that it seems not to touch is not as with all of
// it, the program is written once more with all, and says so. Failures: those of Session::prepare() and of compiling, of a launch
// that cannot be run, and of writing the file; invalid_argument: the output is no regular file; not_found: the runner is not
// there.
Result<MadeProgram> make_program(const ProgramRequest& request, Device& device,
                                 const std::function<void(const std::string&)>& progress = {});

}  // namespace mneme
