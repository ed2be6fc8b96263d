#include "mneme/cli/options/manual_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "mneme/cli/options/help_format.h"
#include "mneme/cli/python_commands.h"

namespace mneme::cli {
namespace {

// Text as it is: no character of it is a request of troff's or changes its font.
std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else if (c == '`')
      result += "\\(ga";
    else if (c == '^')
      result += "\\(ha";
    else if (c == '~')
      result += "\\(ti";
    else
      result += c;
  }
  if (result.starts_with('.')) result.insert(0, "\\&");
  return result;
}

std::string paragraphs(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) result += ".PP\n" + escape(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return result;
}

std::string header(const std::string& name, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"Mneme {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", escape(name), MNEME_VERSION,
                     escape(name), escape(summary));
}

std::string examples(const std::vector<Example>& examples) {
  if (examples.empty()) return {};
  std::string text = ".SH EXAMPLES\n";
  for (const Example& example : examples)
    text += fmt::format(".PP\n{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n",
                        escape(sentence(example.purpose).substr(0, sentence(example.purpose).size() - 1)), escape(example.line));
  return text;
}

std::string options_of(const CLI::App& app, const HelpFormat& format, const std::string& group, bool positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != group || !(positional ? option->get_positional() : option->nonpositional())) continue;
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escape(option->get_name(positional, !positional)),
                        escape(format.make_option_opts(option)), escape(format.make_option_desc(option)));
  }
  return text;
}

}  // namespace

ManualPage manual_page(const DeclaredCommand& command) {
  const CLI::App& app = *command.app;
  const std::string name = "mneme-" + command.info.name;
  const bool takes_application = command.info.application == Application::required;
  const HelpFormat format(takes_application ? "-- PROGRAM [ARGUMENT...]" : "", {});
  std::string usage = format.make_usage(&app, app.get_name());
  usage = usage.substr(usage.find(' ') + 1);
  while (usage.ends_with('\n')) usage.pop_back();
  std::string text = header(name, command.info.summary) + ".SH SYNOPSIS\n.PP\n" + escape(usage) + "\n";
  text += examples(command.info.examples);
  text += ".SH OPTIONS\n";
  const std::vector<std::string> groups = app.get_groups();
  for (const std::string& group : groups) text += options_of(app, format, group, true);
  for (const std::string& group : groups) {
    if (group.empty()) continue;  // options that are taken and not shown
    const std::string options = options_of(app, format, group, false);
    if (!options.empty()) text += ".SS " + escape(group) + "\n" + options;
  }
  if (!app.get_footer().empty()) text += ".SH NOTES\n" + paragraphs(app.get_footer());
  return {name + ".1", text + ".SH SEE ALSO\n.PP\n.BR mneme (1)\n"};
}

std::vector<ManualPage> manual_pages() {
  std::vector<ManualPage> pages;
  std::string text = header("mneme", "record the GPU kernels of a program and replay each alone") +
                     ".SH SYNOPSIS\n.PP\nmneme COMMAND [ARGUMENT...]\n.SH COMMANDS\n";
  for (const std::string& name : command_names()) {
    const auto command = declare_command(name);
    text += fmt::format(".TP\n.BR mneme\\-{} (1)\n{}\n", escape(name), escape(sentence(command->info.summary)));
    pages.push_back(manual_page(*command));
  }
  for (const PythonCommand& command : kPythonCommands)
    text += fmt::format(".TP\n.BR mneme\\-{} (1)\n{} Comes with the Python package.\n", command.name,
                        escape(sentence(std::string(command.summary))));
  text += ".SH EXIT STATUS\n.PP\n0 done, 2 could not be done, 64 the command line is wrong; some commands add 1, see there.\n";
  pages.insert(pages.begin(), {"mneme.1", text});
  return pages;
}

}  // namespace mneme::cli
