#include "mneme/cli/help_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mneme::cli {
namespace {

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

}  // namespace

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string text = Formatter::make_usage(app, std::move(name));
  while (text.ends_with('\n')) text.pop_back();
  return text + (behind_.empty() ? "" : " " + behind_) + "\n";
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = Formatter::make_help(app, std::move(name), mode);
  while (text.ends_with('\n')) text.pop_back();
  return text + "\n";
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return " " + option->get_option_text();
  if (option->get_type_size() == 0) return "";
  std::string text;
  if (!option->get_positional()) text = " " + value_name(option->get_type_name());
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  return text;
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_type_size() != 0 && !option->get_default_str().empty())
    text += fmt::format(" (default: {})", option->get_default_str());
  if (option->get_required() && !option->get_positional()) text += " (required)";
  return text;
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

}  // namespace mneme::cli
