// How a subcommand's --help is written: examples first, what an option takes in words for people, the default behind the
// description. What has no effect there is for --help-all.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "mneme/cli/command.h"

namespace mneme::cli {

class HelpFormat : public CLI::Formatter {
 public:
  // `behind` ends the line that shows the usage; may be empty.
  HelpFormat(std::string behind, std::vector<Example> examples) : behind_(std::move(behind)), examples_(std::move(examples)) {
    column_width(32);
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string behind_;
  std::vector<Example> examples_;
};

// Two lines each: what it is for, and the command.
std::string format_examples(const std::vector<Example>& examples);
// What an option takes, in words for people: "N", "auto|cuda|cpu", "0..3", "TEXT"; empty for a flag.
std::string value_name(const CLI::Option& option);
// The words that it may be, where those are known.
std::vector<std::string> choices_of(const CLI::Option& option);

// "list the kernels" → "List the kernels."
std::string sentence(std::string text);

}  // namespace mneme::cli
