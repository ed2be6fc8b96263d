// What a word of a command line may become: commands, options, values, and the kernels and instances of the database that is
// named. What a shell shows for Tab is made of it (completion_scripts.h).
#pragma once

#include <string>
#include <vector>

namespace mneme::cli {

struct Candidate {
  std::string text;
  std::string about;  // one line; may be empty
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

enum class PathCandidates { none, files, folders };

struct Candidates {
  std::vector<Candidate> words;  // only those that begin as the word does
  PathCandidates paths = PathCandidates::none;
};

// `line`: the words behind "mneme"; the last is the one to be completed, and may be empty. Reads the database that the line
// names, and what cannot be read has no candidates.
Candidates candidates(const std::vector<std::string>& line);

// One candidate a line, a tab before what it is about; then, where paths fit too, ":files" or ":folders".
std::string format_candidates(const Candidates& found);

}  // namespace mneme::cli
