#include "mneme/cli/options/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/help_format.h"
#include "mneme/cli/python_commands.h"
#include "mneme/store/recorded_name.h"

namespace mneme::cli {
namespace {

constexpr size_t kAboutLength = 80;

// A command line as far as it has been typed.
struct Typed {
  const CLI::App& app;
  std::vector<std::string> arguments;    // those that are no options and no values of options
  std::string database;                  // the value of --rdb
  const CLI::Option* waiting = nullptr;  // the last word is its value, or ends in it: "--device=c"
  std::string beginning;                 // of the last word, that is no part of the value: "--device="
};

class Collector {
 public:
  explicit Collector(std::string word) : word_(std::move(word)) {}

  // What is added stands behind it: "--device=".
  void begin_with(const std::string& beginning) { beginning_ = beginning; }
  void add(const std::string& text, const std::string& about = "") {
    const std::string whole = beginning_ + text;
    if (whole.starts_with(word_)) found_.words.push_back({whole, shown(about, kAboutLength)});
  }
  void paths(PathCandidates kind) { found_.paths = kind; }
  Candidates take() { return std::move(found_); }

 private:
  std::string word_, beginning_;
  Candidates found_;
};

const CLI::Option* option_named(const CLI::App& app, const std::string& typed) {
  if (typed.size() < 2 || typed[0] != '-') return nullptr;
  const std::string name = typed[1] == '-' || typed.size() == 2 ? typed : "-" + typed;
  return app.get_option_no_throw(name);
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

Typed read(const CLI::App& app, const std::vector<std::string>& words) {
  Typed typed{app, {}, {}, nullptr, {}};
  for (size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    const size_t equals = words[i].find('=');
    const CLI::Option* option = option_named(app, words[i].substr(0, equals));
    if (last && typed.waiting == nullptr && option != nullptr && equals != std::string::npos) {
      typed.waiting = option;
      typed.beginning = words[i].substr(0, equals + 1);
    }
    if (last) break;
    if (typed.waiting != nullptr) {
      if (typed.waiting->check_name("--rdb")) typed.database = words[i];
      typed.waiting = nullptr;
    } else if (option == nullptr) {
      typed.arguments.push_back(words[i]);
    } else if (takes_value(*option)) {
      if (equals == std::string::npos)
        typed.waiting = option;
      else if (option->check_name("--rdb"))
        typed.database = words[i].substr(equals + 1);
    }
  }
  return typed;
}

void add_commands(Collector& collector) {
  for (const std::string& name : command_names()) collector.add(name, declare_command(name)->info.summary);
  for (const PythonCommand& command : kPythonCommands)
    if (is_on_path("mneme-" + std::string(command.name))) collector.add(std::string(command.name), std::string(command.summary));
  collector.add("help", "what commands there are, or what one does");
  collector.add("version", "the version of Mneme");
}

void add_options(Collector& collector, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == kWithoutEffect || option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) collector.add("--" + name, option->get_description());
  }
}

std::optional<Listing> listing_of(const Path& directory) {
  auto database = Database::open(directory);
  if (!database.ok()) return std::nullopt;
  auto listing = database->list();
  return listing.ok() ? std::optional(std::move(*listing)) : std::nullopt;
}

std::string describe(const InstanceRecord& instance) { return fmt::format("grid {}, block {}", instance.grid, instance.block); }

// The options of a command that the Python package brings, as it says them itself: a line each of its name, what kind of value it
// takes, the choices there are, and what it is for. Null where it is not there, or says nothing.
std::unique_ptr<CLI::App> ask_python_command(const std::string& name) {
  const std::string program = "mneme-" + name;
  if (!is_of_python(name) || !is_on_path(program)) return nullptr;
  auto said = output_of({program, "--list-options"});
  if (!said.ok()) return nullptr;
  auto app = std::make_unique<CLI::App>();
  std::istringstream lines(*said);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string option, value, choices, about;
    for (std::string* field : {&option, &value, &choices, &about}) std::getline(fields, *field, '\t');
    if (app->get_option_no_throw(option) != nullptr || option.empty()) continue;
    CLI::Option* declared = value.empty() ? app->add_flag(option) : app->add_option(option)->type_name(value);
    declared->description(about);
    if (!choices.empty()) declared->check(CLI::IsMember(CLI::detail::split(choices, ',')));
  }
  return app;
}

// A kernel by its name or its hash, and behind KERNEL# its instances by their numbers.
void add_kernels(Collector& collector, const std::string& word, const Path& directory) {
  const auto listing = listing_of(directory);
  if (!listing) return;
  const size_t mark = word.rfind('#');
  const std::string kernel = word.substr(0, mark);
  if (mark != std::string::npos) {
    const std::vector<size_t> found = find_kernels(listing->kernels, kernel);
    if (found.size() != 1) return;
    const std::vector<InstanceRecord>& instances = listing->kernels[found[0]].instances;
    for (size_t i = 0; i < instances.size(); ++i) collector.add(fmt::format("{}#{}", kernel, i), describe(instances[i]));
    return;
  }
  for (const KernelName& name : kernel_names(*listing)) {
    collector.add(name.word, name.demangled);
    if (name.static_hash.hex() != name.word) collector.add(name.static_hash.hex(), name.demangled);
  }
}

// The instances of DB KERNEL or of DIR/<static-hash>.json by their hashes.
void add_instances(Collector& collector, const std::string& database, const std::string& kernel) {
  auto found = locate_recorded(database, kernel);
  if (!found.ok()) return;
  for (const InstanceRecord& instance : found->kernel.instances) collector.add(instance.dynamic_hash.hex(), describe(instance));
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

void add_values(Collector& collector, const Typed& typed) {
  const CLI::Option& option = *typed.waiting;
  collector.begin_with(typed.beginning);
  if (const auto choices = choices_of(option); !choices.empty()) {
    for (const std::string& choice : choices) collector.add(choice);
    return;
  }
  if (option.check_name("--rid")) {
    std::vector<std::string> names = typed.arguments;
    if (!typed.database.empty()) names.insert(names.begin(), typed.database);
    names.resize(2);
    add_instances(collector, names[0], names_kernel_file(names[0]) ? "" : names[1]);
    return;
  }
  if (value_name(option) != "N") collector.paths(PathCandidates::files);
}

void add_arguments(Collector& collector, const Typed& typed, const std::string& word) {
  const auto positionals = typed.app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  const bool by_option = !typed.database.empty();
  const std::string database = by_option ? typed.database : typed.arguments.empty() ? "" : typed.arguments[0];
  if (typed.arguments.size() == (by_option ? 0 : 1) && is_folder(database)) add_kernels(collector, word, database);
  if (typed.arguments.size() >= positionals.size()) return;
  const CLI::Option& argument = *positionals[typed.arguments.size()];
  for (const std::string& choice : choices_of(argument)) collector.add(choice);
  if (choices_of(argument).empty()) collector.paths(PathCandidates::files);
}

}  // namespace

Candidates candidates(const std::vector<std::string>& line) {
  if (line.empty()) return {};
  Collector collector(line.back());
  const bool about_command = line.size() == 2 && line[0] == "help";
  if (line.size() == 1 || about_command) {
    add_commands(collector);
    return collector.take();
  }
  const auto declared = declare_command(line[0]);
  const std::unique_ptr<CLI::App> python = declared ? nullptr : ask_python_command(line[0]);
  const CLI::App* app = declared ? declared->app.get() : python.get();
  const bool behind_program = std::find(line.begin() + 1, line.end() - 1, "--") != line.end() - 1;
  if (app == nullptr || behind_program) {
    collector.paths(PathCandidates::files);
    return collector.take();
  }
  const Typed typed = read(*app, std::vector<std::string>(line.begin() + 1, line.end()));
  if (typed.waiting != nullptr)
    add_values(collector, typed);
  else if (line.back().starts_with("-"))
    add_options(collector, *app);
  else
    add_arguments(collector, typed, line.back());
  return collector.take();
}

std::string format_candidates(const Candidates& found) {
  std::string text;
  for (const Candidate& candidate : found.words)
    text += candidate.text + (candidate.about.empty() ? "" : "\t" + candidate.about) + "\n";
  if (found.paths == PathCandidates::files) text += ":files\n";
  if (found.paths == PathCandidates::folders) text += ":folders\n";
  return text;
}

}  // namespace mneme::cli
