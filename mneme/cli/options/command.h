// Command: one subcommand of `mneme`. Each is one source file, which registers itself:
//
//   class LsCommand : public Command { … };
//   const Registration registration({.name = "ls", .summary = "…", .examples = {{"mneme ls db", "…"}}},
//                                   [] { return std::make_unique<LsCommand>(); });
//
// Its help, its completion and its page of the manual are made of what it declares.
//
// Conventions that hold for every subcommand: results go to standard output, everything for the person to standard error;
// exit status 0 is success, kExitUsage a command line that cannot be understood, kExitCannotRun a correct request that failed.
// An option may be written with one dash or two ("-rdb" is "--rdb"): name it in add_option as "--rdb,--record-db-dir".
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::cli {

inline constexpr int kExitCannotRun = 2;
inline constexpr int kExitUsage = 64;

class Command {
 public:
  virtual ~Command() = default;
  // Declares options and arguments, bound to members of the command. Called once, before run().
  virtual void add_options(CLI::App& app) = 0;
  // Returns the process's exit status. May replace the process (exec).
  virtual int run() = 0;

  // The program to run and its arguments: what stood behind "--". Empty for commands that take none.
  const std::vector<std::string>& application() const { return application_; }

 private:
  friend int run_command_line(const std::vector<std::string>& arguments);
  static int run_line(const std::vector<std::string>& arguments);
  std::vector<std::string> application_;
};

enum class Application { none, required };
enum class Visibility { listed, hidden };

// A line that runs as it stands where ./app is a recordable program with a kernel `add`, made of app.cu, and db what was recorded
// of it.
struct Example {
  std::string line;
  std::string purpose;
};

// The group of options that a command accepts and that change nothing in what it does, such as --iterations where nothing is
// timed. Only --help-all shows them.
inline constexpr char kWithoutEffect[] = "Taken, without effect here";

struct CommandInfo {
  std::string name;
  std::string summary;                          // one line, for `mneme help`
  Application application = Application::none;  // required: "-- PROGRAM [ARGUMENT...]" ends the command line
  Visibility visibility = Visibility::listed;   // hidden: not in `mneme help`, for Mneme's own use
  std::vector<Example> examples = {};           // two or three, the usual one first: what --help begins with
};

// A static object of this type makes the subcommand known.
class Registration {
 public:
  Registration(CommandInfo info, std::function<std::unique_ptr<Command>()> create);
};

// A command with its options declared. Its options refer to `command`.
struct DeclaredCommand {
  CommandInfo info;
  std::unique_ptr<Command> command;
  std::unique_ptr<CLI::App> app;
};
// nullopt: there is no such command.
std::optional<DeclaredCommand> declare_command(const std::string& name);
// The names of the listed commands that are built in, in alphabetical order.
std::vector<std::string> command_names();

inline constexpr std::string_view kDamagedRecording = "take the file from a copy, or remove the kernel's and record it again";
// Writes "mneme: error: <message>" to standard error, and returns kExitCannotRun. Where the status is corrupt, `about_damage`,
// which says what to do, stands behind the message.
int report(const Status& status, std::string_view about_damage = kDamagedRecording);
// Writes "mneme NAME: <message>" and a pointer to the help to standard error and returns kExitUsage.
int report_usage(const std::string& command, const std::string& message);

// Runs one subcommand and returns the exit status. `arguments` are everything behind the program's own name. A command that is
// not built in is looked for as `mneme-NAME` on the PATH, which then replaces this process. Throws nothing: an exception is
// reported as an error, and so is output that standard output did not take.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace mneme::cli
