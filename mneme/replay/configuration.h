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

// One extent that may be given by dimension; what is not given stays as recorded.
struct ExtentOverride {
  std::optional<uint32_t> x, y, z;
  Dim3 apply(Dim3 recorded) const { return {x.value_or(recorded.x), y.value_or(recorded.y), z.value_or(recorded.z)}; }
  friend bool operator==(const ExtentOverride&, const ExtentOverride&) = default;
};

// What a run must show to be called right. Changes no code.
struct Verdict {
  bool mask = true;  // each run begins with masked memory: what the kernel only writes is made wrong before it
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The launch as it was recorded.
LaunchShape recorded_shape(const InstanceRecord& instance);

struct Configuration {
  std::string passes = "default<O3>";     // any string that LLVM's new pass manager parses
  std::vector<std::string> pass_plugins;  // files of LLVM pass plugins
  ExtentOverride grid;                    // in blocks
  ExtentOverride block;                   // in threads
  bool keep_threads = false;              // the grid is what leaves as many threads in each direction as were recorded
  std::optional<Bytes> shared_memory;     // dynamic, a block
  IrFile ir;                              // in place of the recorded IR
  SpecialiseOptions specialise;
  CodegenOptions codegen;
  AssemblerOptions assembler;
  Execution execution;
  std::vector<BufferTolerance> tolerance;  // what need not be equal to the byte; a later one replaces what it overlaps
  Verdict verdict;

  // What is launched for a recorded instance under this configuration. invalid_argument: no grid keeps the threads, or a grid is
  // given and to be computed too; the message has direction and figures.
  Result<LaunchShape> launch_shape(const InstanceRecord& instance) const;
  // The same value has the same digest in every version that reads it. `execution`, `tolerance` and `verdict` are left out: they
  // change no code. A plugin counts by what is in its file now, not by its path; one that cannot be read, by its path. So does
  // IR, where its own digest is not given.
  Digest digest() const;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// A member of a configuration's JSON that has a value, as its codec reads it.
struct ConfigurationField {
  enum class Kind { number, real, flag, text, texts, choice, sections };
  std::string key;  // its path: "block.x"
  Kind kind = Kind::text;
  uint64_t min = 0, max = 0;         // of a number
  double least = 0, most = 0;        // of a real
  std::vector<std::string> choices;  // of a choice
  std::string usual;                 // its value by default, of a number that has one or a text
};
// All of them, in the order of the codec. What makes options of them (knobs.h) has them from here.
const std::vector<ConfigurationField>& configuration_fields();
// The path by which this version knows a member: "verdict.mask" for "verdict.poison", as older versions called it. Every other
// path is returned as it is.
std::string current_name(std::string_view path);
// Each former path of a member, with the path that it has now.
std::map<std::string, std::string> former_names();

// What is as by default is left out, but for "passes".
nlohmann::json to_json(const Configuration& configuration);
// Also reads what older versions wrote. invalid_argument for a wrong type, for an unknown key (with the nearest known one), or
// for a member that is given under its former name and its own.
Result<Configuration> configuration_from_json(const nlohmann::json& json);
// A configuration's JSON as text, each member under the first name that it ever had: what digests are taken of, so that they stay
// the same when a member is renamed.
std::string text_under_first_names(const nlohmann::json& configuration);

}  // namespace mneme
