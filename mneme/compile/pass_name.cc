#include "mneme/compile/pass_name.h"

#include "mneme/compile/compiler.h"

namespace mneme {
namespace {

bool ends_name(char c) {
  const bool is_alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return !is_alphanumeric && c != '-' && c != '_';
}

}  // namespace

size_t find_pass_name(std::string_view pipeline, std::string_view name, size_t from) {
  for (size_t at = pipeline.find(name, from); at != std::string_view::npos; at = pipeline.find(name, at + 1)) {
    const size_t after = at + name.size();
    if ((at == 0 || ends_name(pipeline[at - 1])) && (after == pipeline.size() || ends_name(pipeline[after]))) return at;
  }
  return std::string_view::npos;
}

bool names_as_built(std::string_view passes) { return find_pass_name(passes, kAsBuilt) != std::string_view::npos; }

std::string replace_as_built(std::string passes, std::string_view with) {
  for (size_t at = find_pass_name(passes, kAsBuilt); at != std::string_view::npos;
       at = find_pass_name(passes, kAsBuilt, at + with.size()))
    passes.replace(at, std::string_view(kAsBuilt).size(), with);
  return passes;
}

}  // namespace mneme
