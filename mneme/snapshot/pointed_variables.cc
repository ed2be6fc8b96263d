#include "mneme/snapshot/pointed_variables.h"

#include <sstream>

namespace mneme {

void put_pointed_variables(const std::set<std::string>& names, std::map<std::string, std::string>& attributes) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  if (!text.empty()) attributes[kPointedVariables] = text;
}

std::set<std::string> pointed_variables_in(const std::map<std::string, std::string>& attributes) {
  std::set<std::string> names;
  const auto found = attributes.find(kPointedVariables);
  if (found == attributes.end()) return names;
  std::istringstream words(found->second);
  for (std::string name; words >> name;) names.insert(name);
  return names;
}

}  // namespace mneme
