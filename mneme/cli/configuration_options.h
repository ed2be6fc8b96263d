// The command-line options that make a Configuration, the same for every subcommand that takes one.
//
//   ConfigurationOptions options;          // a member of the command
//   options.declare(app);                  // in add_options()
//   MNEME_ASSIGN(Configuration c, options.configuration());
//
// The configuration is that of `--config FILE` (default: Configuration()), changed by what the command line gives. A new knob is
// one line in its section's declare_*() in the source; its group is the section's heading in --help.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme::cli {

// What opens the help's sections; the options of one stand together.
struct OptionGroups {
  static constexpr char launch[] = "Launch";
  static constexpr char passes[] = "Passes";
  static constexpr char specialisation[] = "Specialisation";
  static constexpr char codegen[] = "Code generation";
  static constexpr char assembler[] = "Assembler";
  static constexpr char execution[] = "Execution";
  static constexpr char verdict[] = "Verdict";
  static constexpr char configuration[] = "Configuration";
};

// What a command does with a configuration: all of it, or less, so that some options change nothing there.
enum class ConfigurationUse {
  replay,     // compiles, runs, verifies and times
  one_run,    // compiles, runs and compares; nothing is timed
  many_runs,  // the same several times, and never with poison
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

  // Valid after parsing. not_found, io: a file that is named cannot be read. invalid_argument: a configuration file that is no
  // JSON, or whose JSON is no configuration; the message names the file.
  Result<Configuration> configuration() const;

 private:
  using Change = std::function<Status(Configuration&)>;

  void declare_file(CLI::App& app);
  void declare_launch(CLI::App& app);
  void declare_passes(CLI::App& app);
  void declare_specialisation(CLI::App& app);
  void declare_launch_bounds(CLI::App& app);
  void declare_codegen(CLI::App& app);
  void declare_assembler(CLI::App& app);
  void declare_execution(CLI::App& app);
  void declare_verdict(CLI::App& app);

  // Declares an option for the member that `member` gives a reference to: [](auto& c) -> auto& { return c.codegen.level; }.
  // A number, string, list or optional of one takes a value; a bool is set by the option alone.
  template <typename Member>
  CLI::Option* knob(CLI::App& app, const char* group, const std::string& name, const std::string& what, Member member);
  // The same for an enumeration, whose values go by the names that the configuration's JSON has for them.
  template <typename T, size_t N, typename Member>
  CLI::Option* choice(CLI::App& app, const char* group, const std::string& name, const std::string& what,
                      const std::pair<const char*, T> (&names)[N], Member member);
  void declare_extent(CLI::App& app, const std::string& name, const std::string& what, ExtentOverride Configuration::* extent);

  FileSystem& files_;
  std::string file_;
  std::vector<Change> changes_;  // what the command line gives, in its order
};

// What a configuration file holds: a configuration's JSON, or an object that has one under "configuration", as `mneme replay`
// prints. `name` is what errors call it.
Result<Configuration> parse_configuration(std::string_view text, const std::string& name);

}  // namespace mneme::cli
