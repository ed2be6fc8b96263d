// Completion: what the last word of a command line may become: commands, options, values, and the kernels and instances of the
// database that is named. A shell shows these for Tab (completion_scripts.h).
#pragma once

#include <string>
#include <vector>

namespace mneme::cli {

struct Candidate {
  std::string text;
  std::string about;  // what it is, on one line; may be empty
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Whether the shell is to add paths of its own.
enum class PathCandidates { none, files, folders };

struct Candidates {
  std::vector<Candidate> words;  // only those that begin as the word does
  PathCandidates paths = PathCandidates::none;
};

// The candidates for the last word of `line`, which has the words behind "mneme"; the last may be empty. Reads the database that
// the line names. For a command of the Python package runs it with --list-options. Where something cannot be read there are no
// candidates; that is no error.
Candidates candidates(const std::vector<std::string>& line);

// As `mneme complete` prints them: a line for each candidate, with a tab before `about`; then ":files" or ":folders" where paths
// fit too.
std::string format_candidates(const Candidates& found);

}  // namespace mneme::cli
