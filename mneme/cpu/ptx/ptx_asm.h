// Inline PTX as data: parses a string of PTX statements.
//
// The text is that of an LLVM inline-assembly call: `$0` and `${0}` name its operands, `$$` is a dollar sign, and `${:uid}` a
// number that no other call of the function has. Statements, `{ }` scopes with `.reg` declarations, predicates, labels,
// vectors, addresses and immediates follow the grammar of the PTX ISA. Names of registers and labels are resolved here. What an
// instruction means is not known here (ptx_asm_emit.h).
//
// No LLVM. Values are plain data; parse() is a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::ptx {

enum class TypeKind { bits, unsigned_integer, signed_integer, real, brain, tensor, small, predicate };

// A fundamental or packed type: ".s32", ".bf16x2", ".pred". The small types are the 4-, 6- and 8-bit floats.
struct Type {
  TypeKind kind = TypeKind::bits;
  unsigned bits = 32;  // of one element
  unsigned lanes = 1;
  unsigned exponent = 0, mantissa = 0;  // small: widths of the fields

  unsigned total_bits() const { return bits * lanes; }
  bool is_float() const { return kind == TypeKind::real || kind == TypeKind::brain; }
  bool is_signed() const { return kind == TypeKind::signed_integer; }
  bool is_integer() const { return kind == TypeKind::bits || kind == TypeKind::unsigned_integer || is_signed(); }
  Type element() const {
    Type t = *this;
    t.lanes = 1;
    return t;
  }
  friend bool operator==(const Type&, const Type&) = default;
};
inline constexpr Type kPredicate{TypeKind::predicate, 1};
inline constexpr Type kU32{TypeKind::unsigned_integer, 32};
inline constexpr Type kU64{TypeKind::unsigned_integer, 64};
inline constexpr Type kF32{TypeKind::real, 32};
inline constexpr Type bits_type(unsigned bits) { return {TypeKind::bits, bits}; }

// The type of a name without its dot: "u32". Nothing where it is no type.
std::optional<Type> parse_type(std::string_view name);

struct Operand {
  enum class Kind {
    reg,       // index: into Program::registers
    argument,  // index: of the inline-assembly call
    integer,   // bits: two's complement
    real32,    // bits: of the float, as in 0f3f800000
    real64,    // bits: of the double, as in 0d…, or of a decimal literal
    special,   // name: "tid.x", without the %
    symbol,    // name: a variable, function or label that is no register
    label,     // index: into Program::labels
    sink,      // _
    vector,    // elements: {a, b}
    pair,      // elements: d|p
    address,   // elements[0] + offset, and elements[1] where two registers are added: [a+8]
  };
  Kind kind = Kind::sink;
  size_t index = 0;
  uint64_t bits = 0;
  std::string name;
  std::vector<Operand> elements;
  int64_t offset = 0;
  bool inverted = false;     // !p
  bool negative = false;     // -a, of a register or argument
  bool coordinates = false;  // an address with commas: of a texture or tensor
};

struct Register {
  std::string name;
  Type type;
};

struct Instruction {
  std::string opcode;                  // "cvt"
  std::vector<std::string> modifiers;  // "rn", "f16x2", "f32"
  std::vector<Operand> operands;
  std::optional<Operand> guard;  // @p, @!p
  size_t scope = 0;
  // Opcode and modifiers as they are written: "cvt.rn.f16x2.f32".
  std::string spelling() const;
};

// Either a label or an instruction.
struct Statement {
  std::optional<size_t> label;  // into Program::labels
  Instruction instruction;
};

struct Program {
  std::vector<Register> registers;
  std::vector<std::string> labels;  // their names; a Statement places each once
  std::vector<Statement> statements;

  bool has_control_flow() const;  // there is a guard or a label
  bool branches_back() const;     // a branch goes backwards, so that there may be a loop
};

// `unique` is what ${:uid} stands for. invalid_argument: the text does not parse; the message names the statement and what was
// expected.
Result<Program> parse(std::string_view text, unsigned unique = 0);

}  // namespace mneme::ptx
