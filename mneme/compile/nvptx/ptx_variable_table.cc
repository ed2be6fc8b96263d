#include "mneme/compile/nvptx/ptx_variable_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "mneme/abi/deployed_code.h"
#include "mneme/base/ptx_words.h"

namespace mneme::nvptx {
namespace {

// A scope of each statement has its own.
constexpr std::string_view kRegister = "%mneme_address";

struct Word {
  std::string_view text;
  size_t begin = 0, end = 0;
};

// Text in the place of [begin, end).
struct Edit {
  size_t begin = 0, end = 0;
  std::string text;
};

struct Declared {
  bool constant = false;
  size_t end = 0;  // behind its declaration
};

std::string element(size_t index) { return fmt::format("[" MNEME_VARIABLE_TABLE "+{}]", 8 * index); }

bool opens(std::string_view word) { return word == "(" || word == "[" || word == "{"; }
bool closes(std::string_view word) { return word == ")" || word == "]" || word == "}"; }

bool is_of_texture(std::string_view opcode) {
  constexpr std::string_view kInstructions[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq.", "istypep."};
  return std::any_of(std::begin(kInstructions), std::end(kInstructions), [&](auto one) { return opcode.starts_with(one); });
}

// "ld.const.f32" becomes "ld.global.f32".
std::string of_global_memory(std::string_view opcode) {
  const size_t at = opcode.find(".const");
  return fmt::format("{}.global{}", opcode.substr(0, at), opcode.substr(at + std::string_view(".const").size()));
}

class TableWriter {
 public:
  TableWriter(std::string_view ptx, const std::vector<std::string>& names) : ptx_(ptx), names_(names) {
    for (size_t i = 0; i < names.size(); ++i) indices_.emplace(names[i], i);
  }

  Result<std::string> run() {
    MNEME_TRY(read_module());
    std::string text;
    size_t at = 0;
    for (const Edit& edit : edits_) {
      text.append(ptx_.substr(at, edit.begin - at)).append(edit.text);
      at = edit.end;
    }
    return text.append(ptx_.substr(at));
  }

 private:
  Status read_module() {
    PtxWords words(ptx_);
    bool in_head = false;  // of a function
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (word == ".section") {
        while (!word.empty() && word != "}") word = words.next();
      } else if (word == ".file") {
        words.skip_line();
      } else if (word == ".entry" || word == ".func") {
        in_head = true;
      } else if (word == ";") {
        in_head = false;
      } else if (word == "{") {
        MNEME_TRY(write_table());
        MNEME_TRY(read_body(words));
        in_head = false;
      } else if (!in_head && (word == ".global" || word == ".const")) {
        MNEME_TRY(read_declaration(words, word == ".const"));
      } else if (in_head && declared_.contains(word)) {
        return error(Code::unsupported, "the PTX has a parameter that is called as the variable '{}'", word);
      }
    }
    return {};
  }

  // Behind ".global" or ".const": of one variable, or of several with commas between them.
  Status read_declaration(PtxWords& words, bool constant) {
    std::vector<std::string_view> names;
    bool is_named = false;  // the one that is read
    int depth = 0;          // of attributes, extents and values
    for (std::string_view word = words.next(); !word.empty() && word != ";"; word = words.next()) {
      if (opens(word) || closes(word)) {
        depth += opens(word) ? 1 : -1;
      } else if (depth != 0) {
        continue;
      } else if (word == ".align") {
        words.next();
      } else if (word == ",") {
        is_named = false;
      } else if (!is_named && word.front() != '.') {
        names.push_back(word);
        is_named = true;
      }
    }
    for (const std::string_view name : names) {
      if (table_written_ && indices_.contains(name))
        return error(Code::unsupported, "the PTX declares the variable '{}' behind code", name);
      declared_[name] = {constant, words.end()};
    }
    return {};
  }

  // Before the first code.
  Status write_table() {
    if (std::exchange(table_written_, true)) return {};
    size_t end = 0;
    std::string values;
    for (const std::string& name : names_) {
      const auto found = declared_.find(std::string_view(name));
      values +=
          fmt::format("{}{}", values.empty() ? "" : ", ", found == declared_.end() ? "0" : fmt::format("generic({})", name));
      if (found == declared_.end()) continue;
      end = std::max(end, found->second.end);
      constants_ = constants_ || found->second.constant;
    }
    if (end != 0)
      edits_.push_back(
          {end, end,
           fmt::format("\n.visible .const .align 8 .u64 " MNEME_VARIABLE_TABLE "[{}] = {{{}}};", names_.size(), values)});
    return {};
  }

  // Up to the brace that ends it. A brace at the begin of a statement is of a block, and any other one of a vector.
  Status read_body(PtxWords& words) {
    std::vector<Word> statement;
    for (int depth = 1; depth != 0;) {
      const std::string_view word = words.next();
      if (word.empty()) return {};
      const bool begins = statement.empty();
      if (begins && (word == "{" || word == "}")) {
        depth += word == "{" ? 1 : -1;
      } else if (begins && (word == ".loc" || word == ".file")) {
        words.skip_line();
      } else if (statement.size() == 1 && word == ":" && !ptx_.substr(words.end()).starts_with(':')) {  // no "L1::no_allocate"
        statement.clear();
      } else if (word == ";") {
        MNEME_TRY(rewrite(statement, words.end()));
        statement.clear();
      } else {
        statement.push_back({word, words.begin(), words.end()});
      }
    }
    return {};
  }

  // `end` is behind its semicolon.
  Status rewrite(const std::vector<Word>& statement, size_t end) {
    const size_t first = first_word(statement);
    if (first >= statement.size()) return {};
    std::optional<size_t> place;
    for (size_t i = 0; i < statement.size(); ++i) {
      if (!declared_.contains(statement[i].text)) continue;
      if (place && reaches_table(statement[*place])) return unknown(statement, *place, end);
      place = i;
      MNEME_TRY(check_known(statement[i]));
    }
    if (statement[first].text.front() == '.') return place ? unknown(statement, *place, end) : check_own(statement);
    const bool is_split = first + 1 < statement.size() && statement[first + 1].text.front() == '.';  // "ld .const.f32"
    if (place && reaches_table(statement[*place]))
      return is_split ? unknown(statement, *place, end) : by_table(statement, first, *place, end);
    if (constants_ && is_split) return unknown_memory(statement, end);
    if (constants_) return without_constant_memory(statement, first, place, end);
    return {};
  }

  // Behind the predicate.
  static size_t first_word(const std::vector<Word>& statement) {
    if (statement.empty() || statement.front().text != "@") return 0;
    return statement.size() > 1 && statement[1].text == "!" ? 3 : 2;
  }

  bool reaches_table(const Word& word) const { return indices_.contains(word.text); }

  Status check_known(const Word& word) const {
    return reaches_table(word) || word.text.starts_with("$str") ? Status() : has_own(word.text);
  }

  // A declaration in a function: registers and the like, or state.
  static Status check_own(const std::vector<Word>& statement) {
    if (statement.front().text != ".global" && statement.front().text != ".const") return {};
    const auto name = std::find_if(statement.begin() + 1, statement.end(), [](const Word& word) {
      const char first = word.text.front();
      return first != '.' && (first < '0' || first > '9');
    });
    return has_own(name == statement.end() ? "" : name->text);
  }

  static Status has_own(std::string_view name) {
    return error(Code::unsupported, "the code has a variable of its own, '{}'", name);
  }

  Status unknown(const std::vector<Word>& statement, size_t place, size_t end) const {
    return error(Code::unsupported, "the PTX reaches the variable '{}' by '{}', of which that is not known",
                 statement[place].text, text_of(statement, end));
  }

  Status unknown_memory(const std::vector<Word>& statement, size_t end) const {
    return error(Code::unsupported, "the PTX has '{}', of which it is not known what memory that reaches",
                 text_of(statement, end));
  }

  std::string_view text_of(const std::vector<Word>& statement, size_t end) const {
    return ptx_.substr(statement.front().begin, end - statement.front().begin);
  }

  Status by_table(const std::vector<Word>& statement, size_t first, size_t place, size_t end) {
    const std::string_view opcode = statement[first].text;
    const size_t index = indices_.find(statement[place].text)->second;
    const bool is_memory = place > 0 && statement[place - 1].text == "[";
    if (is_memory && !is_of_texture(opcode)) {
      const bool constant = declared_.find(statement[place].text)->second.constant;
      if (constant && opcode.find(".const") == opcode.npos) return unknown(statement, place, end);
      edits_.push_back({statement.front().begin, statement.front().begin,
                        fmt::format("{{ .reg .b64 {0}; ld.const.u64 {0}, {1}; ", kRegister, element(index))});
      if (constant) edits_.push_back({statement[first].begin, statement[first].end, of_global_memory(opcode)});
      edits_.push_back({statement[place].begin, statement[place].end, std::string(kRegister)});
      edits_.push_back({end, end, " }"});
      return {};
    }
    // mov.u64 to, variable+8;
    const bool takes_address =
        opcode == "mov.u64" || opcode == "mov.b64" || opcode == "cvta.global.u64" || opcode == "cvta.const.u64";
    if (!takes_address || place != first + 3 || statement[first + 2].text != ",") return unknown(statement, place, end);
    const std::string_view predicate = ptx_.substr(statement.front().begin, statement[first].begin - statement.front().begin);
    const std::string_view to = statement[first + 1].text;
    std::string text = fmt::format("{}ld.const.u64 {}, {};", predicate, to, element(index));
    if (statement.size() == place + 3 && statement[place + 1].text == "+")
      text += fmt::format(" {0}add.s64 {1}, {1}, {2};", predicate, to, statement[place + 2].text);
    else if (statement.size() != place + 1)
      return unknown(statement, place, end);
    edits_.push_back({statement.front().begin, end, std::move(text)});
    return {};
  }

  // Registers hold generic addresses, also of what stays in constant memory.
  Status without_constant_memory(const std::vector<Word>& statement, size_t first, std::optional<size_t> place, size_t end) {
    const Word& opcode = statement[first];
    const bool own_constant = place && declared_.find(statement[*place].text)->second.constant;
    const bool is_load = opcode.text.starts_with("ld.");
    if (opcode.text.starts_with("isspacep.const"))
      return error(Code::unsupported, "the PTX asks whether an address is in constant memory, where deployed code has none");
    if (opcode.text.starts_with("mov.") && own_constant) {
      const std::string_view predicate = ptx_.substr(statement.front().begin, opcode.begin - statement.front().begin);
      edits_.push_back({end, end, fmt::format(" {0}cvta.const.u64 {1}, {1};", predicate, statement[first + 1].text)});
    } else if (opcode.text.find(".const") == opcode.text.npos) {
      return own_constant ? unknown_memory(statement, end) : Status();
    } else if (is_load && !place) {
      edits_.push_back({opcode.begin, opcode.end, of_global_memory(opcode.text)});
    } else if ((opcode.text == "cvta.const.u64" && !place) || opcode.text == "cvta.to.const.u64") {
      edits_.push_back({opcode.begin, opcode.end, "mov.u64"});
    } else if (!own_constant || !(is_load || opcode.text == "cvta.const.u64")) {
      return unknown_memory(statement, end);
    }
    return {};
  }

  std::string_view ptx_;
  const std::vector<std::string>& names_;
  std::map<std::string_view, size_t> indices_;
  std::map<std::string_view, Declared> declared_;
  bool table_written_ = false;
  bool constants_ = false;  // whether one of the table is in constant memory
  std::vector<Edit> edits_;
};

}  // namespace

Result<std::string> reach_by_table(std::string_view ptx, const std::vector<std::string>& names) {
  return TableWriter(ptx, names).run();
}

}  // namespace mneme::nvptx
