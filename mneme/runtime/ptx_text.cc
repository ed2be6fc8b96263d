// Kernels and variables of PTX text, as far as a recorder has to know them: the text is taken apart into statements, no further.
#include <algorithm>
#include <charconv>

#include "mneme/base/ptx_words.h"
#include "mneme/runtime/device_code.h"

namespace mneme {
namespace {

// In bytes, of ".u32" or ".b8"; 0 for any other word.
uint64_t size_of_type(std::string_view word) {
  constexpr std::string_view kKinds = "busf";
  unsigned bits = 0;
  if (word.size() < 3 || word[0] != '.' || kKinds.find(word[1]) == kKinds.npos) return 0;
  const auto [end, failed] = std::from_chars(word.data() + 2, word.data() + word.size(), bits);
  return failed == std::errc() && end == word.data() + word.size() ? bits / 8 : 0;
}

bool is_of_texture(std::string_view word) {
  constexpr std::string_view kInstructions[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq."};
  return std::ranges::any_of(kInstructions, [&](std::string_view one) { return word.starts_with(one); });
}

uint64_t number(std::string_view word) {
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

// The initial value of a variable, behind its "=". Returns what is behind it: "," or ";".
std::string_view skip_value(PtxWords& words) {
  int depth = 0;
  std::string_view word = words.next();
  for (; !word.empty() && (depth != 0 || (word != "," && word != ";")); word = words.next()) {
    if (word == "{") ++depth;
    if (word == "}") --depth;
  }
  return word;
}

// The declaration of variables, behind its ".global" or ".const": attributes, type, then the name and the extents of each.
void read_variables(PtxWords& words, bool constant, PtxModule& out) {
  CubinVariable variable{{}, 0, 1, constant};
  uint64_t elements = 1, size = 0;
  bool in_extent = false;
  const auto add = [&] {
    variable.size = size * elements;
    if (!variable.name.empty() && variable.size != 0) out.variables.push_back(variable);
    variable.name.clear();
    elements = 1;
  };
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "=") word = skip_value(words);
    if (word.empty() || word == ";") break;
    if (word == ".align") {
      variable.alignment = static_cast<uint32_t>(std::clamp<uint64_t>(number(words.next()), 1, 4096));
    } else if (word == ".managed") {
      variable.managed = true;
    } else if (const uint64_t bytes = size_of_type(word); bytes != 0) {
      size = bytes;
    } else if (word == "[" || word == "]") {
      in_extent = word == "[";
    } else if (word == ",") {
      add();
    } else if (in_extent) {
      elements *= number(word);
    } else if (size != 0 && PtxWords::is_word(word[0]) && word[0] != '.' && variable.name.empty()) {
      variable.name = word;
    }
  }
  add();
}

}  // namespace

PtxModule read_ptx(std::string_view text, std::string_view kernel) {
  PtxModule out;
  PtxWords words(text);
  int depth = 0;
  bool counts = false;    // the body that is read is the kernel's, or that of a function that it may call
  bool declares = false;  // in the head of a function
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") {
      ++depth;
      declares = false;
    } else if (word == "}") {
      --depth;
    } else if (word == ";") {
      declares = declares && depth != 0;
    } else if (depth == 0 && word == ".entry") {
      counts = words.next() == kernel;
      declares = true;
    } else if (depth == 0 && word == ".func") {
      counts = true;
      declares = true;
    } else if (depth == 0 && !declares && (word == ".global" || word == ".const")) {
      read_variables(words, word == ".const", out);
    } else if (depth > 0 && counts) {
      out.allocates = out.allocates || word == "malloc" || word == "free";
      out.uses_textures = out.uses_textures || is_of_texture(word);
      out.launches = out.launches || word.starts_with("__cudaCDP2") || word.starts_with("cudaLaunchDevice");
    }
  }
  std::sort(out.variables.begin(), out.variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace mneme
