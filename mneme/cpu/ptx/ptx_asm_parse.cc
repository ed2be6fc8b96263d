#include <map>

#include "mneme/cpu/ptx/ptx_asm.h"
#include "mneme/cpu/ptx/ptx_asm_lexer.h"

namespace mneme::ptx {

std::optional<Type> parse_type(std::string_view name) {
  static const std::map<std::string_view, Type, std::less<>> types = [] {
    std::map<std::string_view, Type, std::less<>> t;
    t["b8"] = bits_type(8), t["b16"] = bits_type(16), t["b32"] = bits_type(32), t["b64"] = bits_type(64),
    t["b128"] = bits_type(128);
    t["u8"] = {TypeKind::unsigned_integer, 8}, t["u16"] = {TypeKind::unsigned_integer, 16};
    t["u32"] = {TypeKind::unsigned_integer, 32}, t["u64"] = {TypeKind::unsigned_integer, 64};
    t["s8"] = {TypeKind::signed_integer, 8}, t["s16"] = {TypeKind::signed_integer, 16};
    t["s32"] = {TypeKind::signed_integer, 32}, t["s64"] = {TypeKind::signed_integer, 64};
    t["u16x2"] = {TypeKind::unsigned_integer, 16, 2}, t["s16x2"] = {TypeKind::signed_integer, 16, 2};
    t["f16"] = {TypeKind::real, 16}, t["f32"] = {TypeKind::real, 32}, t["f64"] = {TypeKind::real, 64};
    t["f16x2"] = {TypeKind::real, 16, 2}, t["f32x2"] = {TypeKind::real, 32, 2};
    t["bf16"] = {TypeKind::brain, 16}, t["bf16x2"] = {TypeKind::brain, 16, 2};
    t["tf32"] = {TypeKind::tensor, 32};
    t["pred"] = kPredicate;
    t["e4m3x2"] = {TypeKind::small, 8, 2, 4, 3}, t["e5m2x2"] = {TypeKind::small, 8, 2, 5, 2};
    return t;
  }();
  auto found = types.find(name);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

std::string Instruction::spelling() const {
  std::string text = opcode;
  for (const std::string& modifier : modifiers) text += "." + modifier;
  return text;
}

bool Program::has_control_flow() const {
  for (const Statement& statement : statements)
    if (statement.label || statement.instruction.guard) return true;
  return false;
}

bool Program::branches_back() const {
  std::vector<bool> placed(labels.size());
  for (const Statement& statement : statements) {
    if (statement.label) placed[*statement.label] = true;
    for (const Operand& operand : statement.instruction.operands)
      if (operand.kind == Operand::Kind::label && placed[operand.index]) return true;
  }
  return false;
}

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) { scopes_.push_back({}); }

  Result<Program> run() {
    size_t scope = 0;
    while (!at_end()) {
      statement_begin_ = peek().begin;
      if (accept(";")) continue;
      if (accept("{")) {
        scopes_.push_back({scope, {}, {}});
        scope = scopes_.size() - 1;
      } else if (accept("}")) {
        if (scope == 0) return bad("a '}' without its '{'");
        scope = scopes_[scope].parent;
      } else if (accept(".")) {
        MNEME_TRY(directive(scope));
      } else if (peek().kind == Token::Kind::identifier && peek(1).text == ":" && peek(1).kind == Token::Kind::punctuation) {
        MNEME_TRY(label(scope));
      } else {
        MNEME_TRY(instruction(scope));
      }
    }
    statement_begin_ = 0;
    if (scope != 0) return bad("no '}' for a '{'");
    MNEME_TRY(resolve_labels());
    return std::move(program_);
  }

 private:
  struct Scope {
    size_t parent = 0;
    std::map<std::string, size_t> registers;
    std::map<std::string, size_t> labels;
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  bool accept(std::string_view punctuation) {
    if (peek().kind != Token::Kind::punctuation || peek().text != punctuation) return false;
    ++at_;
    return true;
  }
  Status expect(std::string_view punctuation) {
    return accept(punctuation) ? Status() : bad(fmt::format("'{}' expected", punctuation));
  }
  Status bad(std::string_view what) const {
    size_t end = peek().end > statement_begin_ ? peek().end : text_.size();
    return error(Code::invalid_argument, "inline PTX '{}': {}", text_.substr(statement_begin_, end - statement_begin_), what);
  }

  std::optional<size_t> find_register(size_t scope, const std::string& name) const {
    while (true) {
      auto found = scopes_[scope].registers.find(name);
      if (found != scopes_[scope].registers.end()) return found->second;
      if (scope == 0) return std::nullopt;
      scope = scopes_[scope].parent;
    }
  }

  Status directive(size_t scope) {
    std::string name = peek().text;
    ++at_;
    if (name == "reg") return declare_registers(scope);
    if (name == "pragma" || name == "loc" || name == "file") {  // advice to ptxas
      while (!at_end() && !accept(";")) ++at_;
      return {};
    }
    return error(Code::unsupported, "inline PTX '.{}': of the directives only .reg is available on the CPU device", name);
  }

  Status declare_registers(size_t scope) {
    std::optional<Type> type;
    while (accept(".")) {
      if (std::optional<Type> found = parse_type(peek().text)) type = found;
      ++at_;
    }
    if (!type) return bad("a register type expected");
    do {
      if (peek().kind != Token::Kind::identifier) return bad("a register's name expected");
      std::string name = peek().text;
      ++at_;
      size_t count = 0;
      if (accept("<")) {
        if (peek().kind != Token::Kind::integer || peek().value > 65536) return bad("a number of registers expected");
        count = peek().value;
        ++at_;
        MNEME_TRY(expect(">"));
        for (size_t i = 0; i < count; ++i) declare(scope, name + std::to_string(i), *type);
      } else {
        declare(scope, name, *type);
      }
    } while (accept(","));
    return end_of_statement();
  }
  void declare(size_t scope, const std::string& name, Type type) {
    scopes_[scope].registers[name] = program_.registers.size();
    program_.registers.push_back({name, type});
  }

  // The last statement's semicolon may be missing, as may one before a closing brace.
  Status end_of_statement() {
    if (at_end() || (peek().text == "}" && peek().kind == Token::Kind::punctuation)) return {};
    return expect(";");
  }

  Status label(size_t scope) {
    auto [at, fresh] = scopes_[scope].labels.emplace(peek().text, program_.labels.size());
    if (!fresh) return bad("a label that stands twice");
    program_.labels.push_back(peek().text);
    program_.statements.push_back({at->second, {}});
    at_ += 2;
    return {};
  }

  Status instruction(size_t scope) {
    Instruction instruction;
    instruction.scope = scope;
    if (accept("@")) {
      bool inverted = accept("!");
      MNEME_ASSIGN(instruction.guard, primary(scope));
      instruction.guard->inverted = inverted;
    }
    if (peek().kind != Token::Kind::identifier) return bad("an instruction expected");
    instruction.opcode = peek().text;
    ++at_;
    while (accept(".")) {
      if (peek().kind != Token::Kind::identifier) return bad("a modifier expected after '.'");
      instruction.modifiers.push_back(peek().text);
      ++at_;
    }
    while (!at_end() && peek().text != ";" && peek().text != "}") {
      if (!instruction.operands.empty()) MNEME_TRY(expect(","));
      MNEME_ASSIGN(Operand next, operand(scope));
      instruction.operands.push_back(std::move(next));
    }
    program_.statements.push_back({std::nullopt, std::move(instruction)});
    return end_of_statement();
  }

  Result<Operand> operand(size_t scope) {
    MNEME_ASSIGN(Operand first, primary(scope));
    if (!accept("|")) return first;
    MNEME_ASSIGN(Operand second, primary(scope));
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements = {std::move(first), std::move(second)};
    return pair;
  }

  Result<Operand> primary(size_t scope) {
    if (accept("!")) {
      MNEME_ASSIGN(Operand inner, primary(scope));
      inner.inverted = !inner.inverted;
      return inner;
    }
    if (accept("-")) {
      MNEME_ASSIGN(Operand inner, primary(scope));
      return negate(std::move(inner));
    }
    if (accept("~")) {
      MNEME_ASSIGN(Operand inner, primary(scope));
      if (inner.kind != Operand::Kind::integer) return bad("'~' before something that is no number");
      inner.bits = ~inner.bits;
      return inner;
    }
    if (accept("(")) {
      MNEME_ASSIGN(Operand inner, primary(scope));
      MNEME_TRY(expect(")"));
      return inner;
    }
    if (accept("{")) return vector(scope);
    if (accept("[")) return address(scope);
    Operand operand;
    const Token& token = peek();
    switch (token.kind) {
      case Token::Kind::argument: operand.kind = Operand::Kind::argument, operand.index = token.value; break;
      case Token::Kind::integer: operand.kind = Operand::Kind::integer, operand.bits = token.value; break;
      case Token::Kind::real32: operand.kind = Operand::Kind::real32, operand.bits = token.value; break;
      case Token::Kind::real64: operand.kind = Operand::Kind::real64, operand.bits = token.value; break;
      case Token::Kind::identifier: return name(scope);
      default: return bad("an operand expected");
    }
    ++at_;
    return operand;
  }

  Result<Operand> negate(Operand operand) {
    switch (operand.kind) {
      case Operand::Kind::integer: operand.bits = 0 - operand.bits; return operand;
      case Operand::Kind::real32: operand.bits ^= uint64_t{1} << 31; return operand;
      case Operand::Kind::real64: operand.bits ^= uint64_t{1} << 63; return operand;
      case Operand::Kind::reg:
      case Operand::Kind::argument: operand.negative = !operand.negative; return operand;
      default: return bad("'-' before something that has no sign");
    }
  }

  // %tid.x is one name; so is a register's, which may begin with % too.
  Result<Operand> name(size_t scope) {
    Operand operand;
    std::string text = peek().text;
    ++at_;
    if (text == "_") return operand;
    if (std::optional<size_t> reg = find_register(scope, text)) {
      operand.kind = Operand::Kind::reg;
      operand.index = *reg;
      return operand;
    }
    if (text == "WARP_SZ") {
      operand.kind = Operand::Kind::integer;
      operand.bits = 32;
      return operand;
    }
    operand.kind = text[0] == '%' ? Operand::Kind::special : Operand::Kind::symbol;
    operand.name = text[0] == '%' ? text.substr(1) : text;
    if (operand.kind == Operand::Kind::special && accept(".")) operand.name += "." + peek().text, ++at_;
    return operand;
  }

  Result<Operand> vector(size_t scope) {
    Operand operand;
    operand.kind = Operand::Kind::vector;
    do {
      MNEME_ASSIGN(Operand element, primary(scope));
      operand.elements.push_back(std::move(element));
    } while (accept(","));
    MNEME_TRY(expect("}"));
    return operand;
  }

  Result<Operand> address(size_t scope) {
    Operand operand;
    operand.kind = Operand::Kind::address;
    bool more = true;
    while (more) {
      MNEME_ASSIGN(Operand part, primary(scope));
      if (part.kind == Operand::Kind::integer) {
        operand.offset += static_cast<int64_t>(part.bits);
      } else {
        operand.elements.push_back(std::move(part));
      }
      bool coordinate = accept(",");
      operand.coordinates |= coordinate;
      more = coordinate || accept("+") || (peek().text == "-" && peek().kind == Token::Kind::punctuation);
    }
    MNEME_TRY(expect("]"));
    return operand;
  }

  Status resolve_labels() {
    for (Statement& statement : program_.statements) {
      if (statement.label) continue;
      for (Operand& operand : statement.instruction.operands) {
        if (operand.kind != Operand::Kind::symbol) continue;
        for (size_t scope = statement.instruction.scope;; scope = scopes_[scope].parent) {
          auto found = scopes_[scope].labels.find(operand.name);
          if (found != scopes_[scope].labels.end()) {
            operand.kind = Operand::Kind::label;
            operand.index = found->second;
            break;
          }
          if (scope == 0) break;
        }
      }
    }
    return {};
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t statement_begin_ = 0;
  std::vector<Scope> scopes_;
  Program program_;
};

}  // namespace

Result<Program> parse(std::string_view text, unsigned unique) {
  MNEME_ASSIGN(std::vector<Token> tokens, tokenize(text, unique));
  return Parser(text, std::move(tokens)).run();
}

}  // namespace mneme::ptx
