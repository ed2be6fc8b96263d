#include "mneme/replay/pipeline_file.h"

#include <algorithm>
#include <cctype>

namespace mneme {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool is_punctuation(char c) { return std::string_view(",;()<>=").find(c) != std::string_view::npos; }

}  // namespace

std::string fold_pipeline(std::string_view text) {
  std::string result;
  bool space = false;
  while (!text.empty()) {
    char c = text.front();
    if (c == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    text.remove_prefix(1);
    if (is_space(c)) {
      space = true;
      continue;
    }
    if (space && !result.empty() && !is_punctuation(result.back()) && !is_punctuation(c)) result += ' ';
    space = false;
    result += c;
  }
  return result;
}

Result<std::string> read_pipeline(FileSystem& files, const std::string& path) {
  auto bytes = files.read(path);
  if (!bytes.ok()) return bytes.status().with_context("reading the pass pipeline");
  std::string pipeline = fold_pipeline({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (pipeline.empty()) return error(Code::invalid_argument, "there is no pass pipeline in {}", path);
  return pipeline;
}

}  // namespace mneme
