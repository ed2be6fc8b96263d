// Configuration: everything that a replay changes about a recorded launch, as one value.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/measure/execution.h"
#include "mneme/replay/kernel_code.h"
#include "mneme/replay/specialise_options.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// An extent in blocks or threads. Each direction can be given by itself; one that is not given stays as recorded.
struct ExtentOverride {
  std::optional<uint32_t> x, y, z;
  Dim3 apply(Dim3 recorded) const { return {x.value_or(recorded.x), y.value_or(recorded.y), z.value_or(recorded.z)}; }
  friend bool operator==(const ExtentOverride&, const ExtentOverride&) = default;
};

// How strictly a run is judged. Changes no code.
struct Verdict {
  bool mask = true;  // each run begins with masked memory: bytes that the kernel only writes are made wrong before it
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The launch as it was recorded.
LaunchShape recorded_shape(const InstanceRecord& instance);

struct Configuration {
  std::string passes = kAsBuilt;          // any string that LLVM's new pass manager parses
  Linkage linkage = Linkage::recorded;    // of device functions and constants, as the pipeline sees them
  std::vector<std::string> pass_plugins;  // files of LLVM pass plugins
  ExtentOverride grid;                    // in blocks
  ExtentOverride block;                   // in threads
  bool keep_threads = false;              // computes the grid: as many threads in each direction as were recorded
  std::optional<Bytes> shared_memory;     // dynamic shared memory of a block; nothing: as recorded
  IrFile ir;                              // compiled in place of the recorded IR
  SpecialiseOptions specialise;
  CodegenOptions codegen;
  AssemblerOptions assembler;
  Execution execution;
  std::vector<BufferTolerance> tolerance;  // buffers that may differ; a later one replaces earlier ones where they overlap
  Verdict verdict;

  // The shape with which a recorded instance is launched under this configuration. invalid_argument: under keep_threads, no grid
  // has as many threads as were recorded, or a grid is given in the same direction; the message has direction and figures.
  Result<LaunchShape> launch_shape(const InstanceRecord& instance) const;
  // A digest of everything that changes the code. `execution`, `tolerance` and `verdict` are left out. A configuration has the
  // same digest in every version of Mneme that reads it. A plugin counts by the present content of its file, which is read, or by
  // its path where it cannot be read. IR counts by its digest where the configuration gives one, and else as a plugin does.
  Digest digest() const;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// One member of a configuration's JSON, and which values it takes. Objects that only hold members, such as "block", are none.
struct ConfigurationField {
  enum class Kind { number, real, flag, text, texts, choice, sections };
  std::string key;                   // its path: "block.x"
  Kind kind = Kind::text;            // `sections` is a list of objects: "tolerance"
  uint64_t min = 0, max = 0;         // of a number: the least and the largest value
  double least = 0, most = 0;        // of a real: the same
  std::vector<std::string> choices;  // of a choice: its words
  std::string usual;                 // default of a number that has one, of a real or of a text; empty for all others
};
// All members, in the order in which they are written and read. The command line's options are made of them (knobs.h).
const std::vector<ConfigurationField>& configuration_fields();
// The present path of a member: "verdict.mask" for "verdict.poison", as older versions called it. A path that is no former one is
// returned as it is.
std::string current_name(std::string_view path);
// Each former path of a member, with the path that it has now.
std::map<std::string, std::string> former_names();

// Members that have their default value are left out, except "passes".
nlohmann::json to_json(const Configuration& configuration);
// Reads what this version or an older one wrote. invalid_argument: a value of a wrong type or out of range, a text that is no
// UTF-8, an unknown key (the message has the nearest known one), a member that is given under its former name and its own, or a
// tolerance that check() refuses.
Result<Configuration> configuration_from_json(const nlohmann::json& json);
// A configuration's JSON as text, each member under the first name that it ever had. Digests are taken of this text, so that they
// stay the same when a member is renamed.
std::string text_under_first_names(const nlohmann::json& configuration);

}  // namespace mneme
