#include "mneme/cli/options/help_format.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace mneme::cli {
namespace {

// Where nothing says how wide lines may be, and the least that a description gets.
constexpr size_t kUsualWidth = 100, kLeastWidth = 24;

// The library describes a value by its type and by each of its checks: "UINT:INT in [0 - 3]", "TEXT:{auto,cuda,cpu}".
std::string value_name(const std::string& type) {
  const size_t open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    std::string choices = type.substr(open + 1, close - open - 1);
    std::replace(choices.begin(), choices.end(), ',', '|');
    return choices;
  }
  if (const size_t range = type.find(" in ["); range != std::string::npos) {
    std::string text = type.substr(range + 5, type.find(']') - range - 5);
    if (const size_t dash = text.find(" - "); dash != std::string::npos) text.replace(dash, 3, "..");
    return text;
  }
  const std::string name = type.substr(0, type.find(':'));
  return name == "UINT" || name == "INT" || name == "FLOAT" ? "N" : name;
}

bool is_shown(const CLI::Option* option, const std::string& group, CLI::AppFormatMode mode) {
  if (option->get_group() != group || !option->nonpositional()) return false;
  return mode == CLI::AppFormatMode::All || group != kWithoutEffect;
}

}  // namespace

std::string value_name(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  return option.get_items_expected_max() == 0 ? "" : value_name(option.get_type_name());
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string name = value_name(option);
  if (option.get_items_expected_max() == 0 || option.get_type_name().find('{') == std::string::npos) return {};
  std::vector<std::string> choices;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('|', begin), name.size());
    choices.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

size_t help_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    size_t width = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (failure == std::errc() && end == text.data() + text.size() && width > 0) return width;
  }
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) return window.ws_col;
  return kUsualWidth;
}

std::string wrap(const std::string& text, size_t width) {
  std::string wrapped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    while (line.size() > width && !line.starts_with(' ')) {
      size_t space = line.rfind(' ', width);
      if (space == std::string::npos) space = line.find(' ');  // a longer word stands alone
      if (space == std::string::npos) break;
      wrapped += line.substr(0, space) + "\n";
      line.erase(0, space + 1);
    }
    wrapped += line + "\n";
  }
  if (!text.ends_with('\n') && !wrapped.empty()) wrapped.pop_back();
  return wrapped;
}

std::string help_row(const std::string& name, const std::string& description, size_t column) {
  const size_t width = help_width();
  std::ostringstream row;
  CLI::detail::format_help(row, name, wrap(description, width > column + kLeastWidth ? width - column : kLeastWidth), column);
  return row.str();
}

std::string format_examples(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) text += fmt::format("  # {}\n  {}\n", example.purpose, example.line);
  return text;
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string text = Formatter::make_usage(app, std::move(name));
  while (text.ends_with('\n')) text.pop_back();
  return text + (behind_.empty() ? "" : " " + behind_) + "\n";
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = make_description(app);
  if (!examples_.empty()) text += "\nExamples:\n" + format_examples(examples_);
  text += "\n" + make_usage(app, name.empty() ? app->get_name() : std::move(name)) + make_positionals(app);
  for (const std::string& group : app->get_groups()) {
    const auto options = app->get_options([&](const CLI::Option* option) { return is_shown(option, group, mode); });
    if (!group.empty() && !options.empty()) text += make_group(group, false, options);
  }
  const auto without_effect = [](const CLI::Option* option) { return option->get_group() == kWithoutEffect; };
  if (mode != CLI::AppFormatMode::All && !app->get_options(without_effect).empty())
    text += "\n" + wrap("--help-all shows options too that are taken but have no effect here.\n", help_width());
  return text + (app->get_footer().empty() ? "" : "\n" + make_footer(app));
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrap(Formatter::make_description(app), help_width());
}

std::string HelpFormat::make_footer(const CLI::App* app) const { return wrap(Formatter::make_footer(app), help_width()); }

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return help_row(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option), column_width_);
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return " " + option->get_option_text();
  if (option->get_items_expected_max() == 0) return "";
  std::string text;
  if (!option->get_positional()) text = " " + value_name(*option);
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  return text;
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_items_expected_max() != 0 && !option->get_default_str().empty())
    text += fmt::format(" (default: {})", option->get_default_str());
  if (option->get_required() && !option->get_positional()) text += " (required)";
  return text;
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

}  // namespace mneme::cli
