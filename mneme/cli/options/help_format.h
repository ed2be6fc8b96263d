// HelpFormat: how a subcommand's --help is written. Examples come first; what an option takes is said in words for people, the
// default behind the description; no line is longer than the terminal's. Options without effect are shown by --help-all alone.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "mneme/cli/options/command.h"

namespace mneme::cli {

class HelpFormat : public CLI::Formatter {
 public:
  // `behind` stands at the end of the line that shows the usage: "-- PROGRAM [ARGUMENT...]"; may be empty.
  HelpFormat(std::string behind, std::vector<Example> examples) : behind_(std::move(behind)), examples_(std::move(examples)) {
    column_width(32);
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string behind_;
  std::vector<Example> examples_;
};

// Two lines for each example: what it is for, and the command.
std::string format_examples(const std::vector<Example>& examples);
// How many columns help has: $COLUMNS, else those of standard output where that is a terminal, else 100.
size_t help_width();
// The text with its lines broken between words, so that none is longer than `width`. A line that begins with a blank, as one for
// a shell does, stays as it is.
std::string wrap(const std::string& text, size_t width);
// "  name      description\n": the description begins in `column`, further lines of it too.
std::string help_row(const std::string& name, const std::string& description, size_t column);
// What an option takes, in words for people: "N", "auto|cuda|cpu", "0..3", "TEXT"; empty for a flag.
std::string value_name(const CLI::Option& option);
// The words that an option takes; empty where it takes others, too.
std::vector<std::string> choices_of(const CLI::Option& option);

// "list the kernels" → "List the kernels."
std::string sentence(std::string text);

}  // namespace mneme::cli
