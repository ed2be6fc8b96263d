// Knobs: the options of a command line that set members of a configuration. `mneme replay` and its like, `mneme sweep` and
// `mneme tune` have the same options, which are made of this list. Each is another spelling of --set KEY=VALUE, whose KEY is the
// path of the member in a configuration's JSON: --block-dim-x 64 is --set block.x=64.
//
// Which values a knob takes follows from the member's field (configuration_fields()).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct Knob {
  enum class Form {
    value,          // takes a number, a text, or one of several words
    flag,           // takes no value: the member becomes true
    off,            // takes no value: the member becomes false
    list,           // takes one text, and may be given several times
    words,          // takes texts with commas between them
    arguments,      // takes kernel arguments with commas between them; "all" is every one
    path,           // takes a file; the member gets its absolute path
    paths,          // takes one file, and may be given several times; the member gets absolute paths
    pipeline,       // takes a pipeline, or @FILE for the pipeline in a file
    pipeline_file,  // takes a file with a pipeline
    bounds,         // takes MAX[,MIN], and sets two members
    tolerances,     // takes BUFFER: TOLERANCE, which is added to the tolerances that there are
    setting,        // takes KEY=VALUE: --set
  };
  std::vector<std::string> names;  // its spellings, "--specialise" and "--specialize"; the first is the one that messages use
  std::string key;                 // the member's path, "specialise.arguments"; empty for --set
  std::string group;               // the heading of --help that it stands under
  std::string what;                // its description in --help
  Form form = Form::value;
  std::vector<std::string> former_names = {};  // older spellings of a flag, which are still taken and not shown
  ConfigurationField field = {};               // the field that `key` names, for a few knobs with narrower values

  std::string value_name() const;  // what --help calls the value: "N", "FILE", "on|off"; empty where it takes none
  bool takes_value() const { return form != Form::flag && form != Form::off; }
  // Whether every value counts when the option is given several times. If not, the last one does.
  bool repeats() const;
};

// All knobs, in the order of --help.
const std::vector<Knob>& knobs();
// The knob with this spelling ("--block-dim-x"), present or former. nullptr: there is none.
const Knob* find_knob(std::string_view name);

// A knob and the values that were given for it: one for each time that the option was given, none for a flag.
struct KnobChange {
  const Knob* knob = nullptr;
  std::vector<std::string> texts;
};
// ok when the knob takes these values, whatever the rest of the configuration is. invalid_argument: it does not. Reads no file.
Status check_change(const KnobChange& change);
// The configuration with all changes made, in their order. Pipelines are read from their files, and IR is pinned to the present
// content of its file. Failures: those of check_change(), read_pipeline() and pin(); invalid_argument: a text is no UTF-8.
Result<Configuration> changed(const Configuration& configuration, const std::vector<KnobChange>& changes, FileSystem& files);

}  // namespace mneme
