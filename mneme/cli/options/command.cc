#include "mneme/cli/options/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/base/suggestion.h"
#include "mneme/cli/ir_stages.h"
#include "mneme/cli/options/help_format.h"
#include "mneme/cli/output.h"
#include "mneme/cli/python_commands.h"

namespace mneme::cli {
namespace {

struct Entry {
  CommandInfo info;
  std::function<std::unique_ptr<Command>()> create;
};

std::map<std::string, Entry>& registry() {
  static std::map<std::string, Entry> entries;
  return entries;
}

void print_help() {
  print("{}\n\nExamples:\n{}", wrap("Mneme records the GPU kernels of a program and replays each alone.", help_width()),
        format_examples({{"mneme record -rdb db -- ./app", "run a program and record its kernel launches"},
                         {"mneme ls db", "what was recorded"},
                         {"mneme replay --help", "what a command does, and how"}}));
  print("\nUsage: mneme COMMAND [ARGUMENT...]\n\nCommands:\n");
  std::map<std::string, std::string> summaries;
  for (const auto& [name, entry] : registry())
    if (entry.info.visibility == Visibility::listed) summaries.emplace(name, entry.info.summary);
  bool all = true;
  for (const PythonCommand& command : kPythonCommands) {
    const bool here = is_on_path("mneme-" + std::string(command.name));
    summaries.emplace(command.name, fmt::format("{}{}", command.summary, here ? "" : " (not installed)"));
    all = all && here;
  }
  constexpr size_t kSummaries = 14;
  for (const auto& [name, summary] : summaries) write_output(help_row(name, summary, kSummaries));
  if (!all)
    print("\n{}\n", wrap("tune and report come with Mneme's Python package: " + how_to_get_python("tune,report"), help_width()));
  print("\n{}\n",
        wrap("mneme COMMAND --help explains one. mneme NAME runs mneme-NAME from the PATH when NAME is not one of these.\n"
             "mneme doctor says what is missing on this machine. mneme completion SHELL makes commands and kernels complete with "
             "Tab.\n"
             "Exit status: 0 done, 2 could not be done, 64 the command line is wrong; replay also: 1 not verified.",
             help_width()));
}

// Replaces the process by `mneme-NAME`; returns only when there is none.
void exec_external(const std::vector<std::string>& arguments) {
  const std::string program = "mneme-" + arguments[0];
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (size_t i = 1; i < arguments.size(); ++i) argv.push_back(const_cast<char*>(arguments[i].c_str()));
  argv.push_back(nullptr);
  ::execvp(program.c_str(), argv.data());
}

// What is written at length or cut short, and what other tools call it, is no slip of a finger.
std::optional<std::string> nearest_command(const std::string& name, const std::vector<std::string>& names) {
  if (name == "list" || name == "dir") return "ls";
  std::vector<std::string> longer;
  for (const std::string& known : names)
    if (name.size() >= 2 && known.starts_with(name)) longer.push_back(known);
  return longer.size() == 1 ? longer[0] : nearest(name, names);
}

int unknown_command(const std::string& name) {
  if (is_of_python(name)) {
    print_error("mneme: '{0}' comes with Mneme's Python package, and there is no mneme-{0} on the PATH: {1}\n", name,
                how_to_get_python(name));
    return kExitUsage;
  }
  std::vector<std::string> names = command_names();
  names.insert(names.begin(), "help");
  std::string message = fmt::format("mneme: there is no command '{}', and no mneme-{} on the PATH", shown(name), shown(name));
  if (const std::string_view stage = stage_meant_by(name); !stage.empty())
    message += fmt::format("; `mneme ir DB KERNEL --stage {}` writes that", stage);
  else if (auto near = nearest_command(name, names))
    message += fmt::format("; did you mean '{}'?", *near);
  print_error("{}\nSee 'mneme help'.\n", message);
  return kExitUsage;
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "--clear=3": the name of a flag, which takes no value. Nothing: there is none.
std::optional<std::string> flag_with_value(const CLI::App& app, const std::string& argument) {
  const size_t equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string::npos) return std::nullopt;
  const CLI::Option* option = app.get_option_no_throw(argument.substr(0, equals));
  if (!option || option->get_items_expected_max() != 0) return std::nullopt;
  return argument.substr(0, equals);
}

// "-rdb" and "-rdb=x" become "--rdb" and "--rdb=x" where the command has such an option.
std::string with_two_dashes(const std::string& argument, const std::vector<std::string>& known) {
  if (argument.size() < 3 || argument[0] != '-' || argument[1] == '-') return argument;
  const std::string name = "-" + argument.substr(0, argument.find('='));
  return std::find(known.begin(), known.end(), name) == known.end() ? argument : "-" + argument;
}

std::string describe_extra(const CommandInfo& info, const std::string& extra, const std::vector<std::string>& known) {
  if (extra.size() < 2 || extra[0] != '-') {
    std::string message = fmt::format("unexpected argument '{}'", shown(extra));
    if (info.application == Application::required)
      message += fmt::format("; a program to run stands behind --: mneme {} [OPTIONS] -- {}", info.name, shown(extra));
    return message;
  }
  const std::string typed = shown(extra.substr(0, extra.find('=')));
  return fmt::format("unknown option '{}'{}", typed, did_you_mean(typed[1] == '-' ? typed : "-" + typed, known));
}

DeclaredCommand declare(const Entry& entry) {
  DeclaredCommand declared{entry.info, entry.create(),
                           std::make_unique<CLI::App>(sentence(entry.info.summary), "mneme " + entry.info.name)};
  CLI::App& app = *declared.app;
  app.set_help_flag("-h,--help", "print this and exit");
  app.set_help_all_flag("--help-all", "print this with every option that is taken, and exit");
  const bool takes_application = entry.info.application == Application::required;
  app.formatter(std::make_shared<HelpFormat>(takes_application ? "-- PROGRAM [ARGUMENT...]" : "", entry.info.examples));
  declared.command->add_options(app);
  app.allow_extras();
  return declared;
}

// Reads the arguments into the command; returns an exit status when nothing is left to be done.
std::optional<int> parse(DeclaredCommand& declared, const std::vector<std::string>& arguments, bool has_application) {
  CLI::App& app = *declared.app;
  const CommandInfo& info = declared.info;
  const std::vector<std::string> known = long_names(app);
  std::vector<std::string> reversed;  // CLI11 takes them last first
  for (auto it = arguments.rbegin(); it != arguments.rend(); ++it) reversed.push_back(with_two_dashes(*it, known));
  for (const std::string& argument : reversed)
    if (auto flag = flag_with_value(app, argument))
      return report_usage(info.name,
                          fmt::format("{} takes no value, and is given '{}'", *flag, shown(argument.substr(flag->size() + 1))));
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    write_output(app.help());
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    write_output(app.help("", CLI::AppFormatMode::All));
    return 0;
  } catch (const CLI::ParseError& failure) {
    // A mistyped option often makes something else look wrong: it is named first.
    for (const std::string& extra : app.remaining()) {
      if (extra.size() > 1 && extra[0] == '-') return report_usage(info.name, describe_extra(info, extra, known));
    }
    return report_usage(info.name, failure.what());
  }
  if (auto extras = app.remaining(); !extras.empty()) return report_usage(info.name, describe_extra(info, extras.front(), known));
  if (info.application == Application::required && !has_application) {
    return report_usage(info.name, fmt::format("no program to run: put it behind --, as in 'mneme {} -- ./app'", info.name));
  }
  return std::nullopt;
}

}  // namespace

Registration::Registration(CommandInfo info, std::function<std::unique_ptr<Command>()> create) {
  std::string name = info.name;
  registry().emplace(std::move(name), Entry{std::move(info), std::move(create)});
}

std::optional<DeclaredCommand> declare_command(const std::string& name) {
  auto found = registry().find(name);
  if (found == registry().end()) return std::nullopt;
  return declare(found->second);
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry())
    if (entry.info.visibility == Visibility::listed) names.push_back(name);
  return names;
}

int report(const Status& status, std::string_view about_damage) {
  const bool damaged = status.code() == Code::corrupt;
  log::error("{}{}{}", status.message(), damaged ? "; " : "", damaged ? about_damage : "");
  return kExitCannotRun;
}

int report_usage(const std::string& command, const std::string& message) {
  print_error("mneme {}: {}\nSee 'mneme {} --help'.\n", command, shown_message(message), command);
  return kExitUsage;
}

int Command::run_line(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    print_error("mneme: no command given\nSee 'mneme help'.\n");
    return kExitUsage;
  }
  const std::string& name = arguments[0];
  if (name == "help" && arguments.size() > 1) return run_line({arguments[1], "--help"});
  if (name == "help" || name == "--help" || name == "-h") {
    print_help();
    return 0;
  }
  if (name == "--version" || name == "version") {
    print("mneme {}\n", MNEME_VERSION);
    return 0;
  }
  auto found = registry().find(name);
  if (found == registry().end()) {
    if (name.starts_with("-")) {
      print_error("mneme: unknown option '{}'\nSee 'mneme help'.\n", shown(name));
      return kExitUsage;
    }
    exec_external(arguments);
    if (errno != ENOENT) {
      log::error("running mneme-{}: {}", name, std::strerror(errno));
      return kExitCannotRun;
    }
    return unknown_command(name);
  }

  DeclaredCommand declared = declare(found->second);
  Command& command = *declared.command;
  auto end = arguments.end();
  if (declared.info.application == Application::required) {
    end = std::find(arguments.begin() + 1, arguments.end(), "--");
    if (end != arguments.end()) command.application_.assign(end + 1, arguments.end());
  }
  const std::vector<std::string> own(arguments.begin() + 1, end);
  if (auto status = parse(declared, own, !command.application_.empty())) return *status;
  return command.run();
}

int run_command_line(const std::vector<std::string>& arguments) {
  log::level();  // warns of a MNEME_LOG that names none
  int status = kExitCannotRun;
  try {
    status = Command::run_line(arguments);
  } catch (const std::exception& failure) {  // memory, threads and the like that the system refused
    log::error("mneme {}: {}", arguments.empty() ? "" : arguments[0], failure.what());
  }
  // A result that did not reach the reader (a full disk, a closed pipe) is no success.
  if (Status written = end_output(); !written.ok()) {
    report(written);
    return status == 0 ? kExitCannotRun : status;
  }
  return status;
}

}  // namespace mneme::cli
