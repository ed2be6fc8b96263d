// How a subcommand's --help is written: what an option takes in words for people, the default behind the description.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mneme::cli {

class HelpFormat : public CLI::Formatter {
 public:
  // `behind` ends the line that shows the usage; may be empty.
  explicit HelpFormat(std::string behind) : behind_(std::move(behind)) { column_width(32); }

  // Ends with one line break, whatever the library's version adds.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string behind_;
};

// "list the kernels" → "List the kernels."
std::string sentence(std::string text);

}  // namespace mneme::cli
