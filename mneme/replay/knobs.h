// Knobs: what a command line calls the members of a configuration. `mneme replay` and its like, `mneme sweep` and `mneme tune`
// have the same options, made of this list; each is another spelling of --set KEY=VALUE, whose KEY is the path of the member in
// a configuration's JSON: --block-dim-x 64 is --set block.x=64.
//
// What a value may be is the field's (configuration_fields()), and is said in its codec's words.
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
    value,          // a number, a text, one of several words
    flag,           // no text: true
    off,            // no text: false
    list,           // texts, one each time it is given
    words,          // texts, with commas between them
    arguments,      // the same; "all" is every one
    path,           // a file, which is kept by its whole path
    paths,          // files, one each time it is given
    pipeline,       // a text, or @FILE, which has it
    pipeline_file,  // a file that has it
    bounds,         // MAX[,MIN]: two members
    tolerances,     // BUFFER: TOLERANCE, added to those there are
    setting,        // KEY=VALUE
  };
  std::vector<std::string> names;  // "--specialise", "--specialize": the first is its own
  std::string key;                 // "specialise.arguments"; empty: none of its own
  std::string group;               // the heading that it stands under
  std::string what;                // for --help
  Form form = Form::value;
  std::vector<std::string> former_names = {};  // of an option without a value: older spellings, taken and not shown
  ConfigurationField field = {};               // of `key`

  std::string value_name() const;  // "N", "FILE", "on|off"; empty where it takes none
  bool takes_value() const { return form != Form::flag && form != Form::off; }
  // Whether every text counts when it is given several times; else the last one.
  bool repeats() const;
};

// In the order of --help.
const std::vector<Knob>& knobs();
// nullptr: there is no option of that name ("--block-dim-x"), nor was there one.
const Knob* find_knob(std::string_view name);

// A knob and what was given for it, of an option that repeats each time.
struct KnobChange {
  const Knob* knob = nullptr;
  std::vector<std::string> texts;
};
// invalid_argument: a text is none that the knob takes, whatever the rest of the configuration is. Reads no file.
Status check_change(const KnobChange& change);
// The configuration with all changes, one after another. As check_change(); not_found, io, invalid_argument: a file with a
// pipeline, or the IR, cannot be read. IR is pinned to what its file has now.
Result<Configuration> changed(const Configuration& configuration, const std::vector<KnobChange>& changes, FileSystem& files);

}  // namespace mneme
