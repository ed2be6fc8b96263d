// The command-line options that make a Configuration, the same for every subcommand that takes one.
//
//   ConfigurationOptions options;          // a member of the command
//   options.declare(app);                  // in add_options()
//   MNEME_ASSIGN(Configuration c, options.configuration());
//
// The configuration is that of `--config FILE` (default: Configuration()), changed by what the command line gives: the word
// PIPELINE, --set KEY=VALUE, and an option for each of the knobs (mneme/replay/knobs.h), whose groups are the help's headings.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/configuration_file.h"
#include "mneme/replay/knobs.h"

namespace mneme::cli {

// What a command does with a configuration. Where it does less than a replay some options change nothing.
enum class ConfigurationUse {
  replay,     // compiles, runs, verifies and times
  one_run,    // compiles, runs and compares; nothing is timed
  many_runs,  // the same several times, never from masked memory
  code,       // compiles
};

class ConfigurationOptions {
 public:
  explicit ConfigurationOptions(FileSystem& files = FileSystem::posix()) : files_(files) {}
  ConfigurationOptions(const ConfigurationOptions&) = delete;  // the declared options refer to it
  ConfigurationOptions& operator=(const ConfigurationOptions&) = delete;

  // Declares every option; those that change nothing under `use` are in the group kWithoutEffect. Called once; this object must
  // outlive the parsing.
  void declare(CLI::App& app, ConfigurationUse use = ConfigurationUse::replay);

  // The word PIPELINE, if it was given. RecordedOption changes it after parsing: where DB KERNEL are fewer words than usual,
  // the parser has put the pipeline in one of their places.
  std::optional<std::string>& pipeline() { return pipeline_; }

  // invalid_argument: the pipeline is given twice.
  Status check_pipeline() const;

  // The configuration that the command line gives; called after parsing. Failures: those of read_configuration(),
  // check_pipeline() and changed().
  Result<Configuration> configuration() const;

 private:
  void declare_knob(CLI::App& app, const Knob& knob, const std::string& group);

  FileSystem& files_;
  std::string file_;
  std::optional<std::string> pipeline_;
  std::list<KnobChange> given_;  // one for each knob, in their order; options_ tells whether it was given
  std::vector<std::pair<const CLI::Option*, const KnobChange*>> options_;
};

}  // namespace mneme::cli
