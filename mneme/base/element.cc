#include "mneme/base/element.h"

#include <array>
#include <string>

namespace mneme {
namespace {

struct TypeTraits {
  ElementType type;
  std::string_view name;
  uint64_t size;
  bool integer;
};

constexpr std::array kTypes = {
    TypeTraits{ElementType::f16, "f16", 2, false},
    TypeTraits{ElementType::bf16, "bf16", 2, false},
    TypeTraits{ElementType::f8e4m3, "f8e4m3", 1, false},
    TypeTraits{ElementType::f8e5m2, "f8e5m2", 1, false},
    TypeTraits{ElementType::f32, "f32", 4, false},
    TypeTraits{ElementType::f64, "f64", 8, false},
    TypeTraits{ElementType::i8, "i8", 1, true},
    TypeTraits{ElementType::i16, "i16", 2, true},
    TypeTraits{ElementType::i32, "i32", 4, true},
    TypeTraits{ElementType::i64, "i64", 8, true},
    TypeTraits{ElementType::u8, "u8", 1, true},
    TypeTraits{ElementType::u16, "u16", 2, true},
    TypeTraits{ElementType::u32, "u32", 4, true},
    TypeTraits{ElementType::u64, "u64", 8, true},
    TypeTraits{ElementType::complex64, "complex64", 8, false},
    TypeTraits{ElementType::complex128, "complex128", 16, false},
};

const TypeTraits& traits(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

std::string_view to_string(ElementType type) { return traits(type).name; }

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::absolute: return "absolute";
    case ErrorKind::relative: return "relative";
    case ErrorKind::ulp: return "ulp";
  }
  return "unknown";
}

std::string_view to_string(Norm norm) {
  switch (norm) {
    case Norm::none: return "none";
    case Norm::l1: return "L1";
    case Norm::l2: return "L2";
    case Norm::linf: return "Linf";
  }
  return "unknown";
}

std::string_view to_string(NanPolicy policy) {
  switch (policy) {
    case NanPolicy::recorded: return "recorded";
    case NanPolicy::any: return "any";
    case NanPolicy::none: return "none";
  }
  return "unknown";
}

Result<ElementType> parse_element_type(std::string_view text) {
  std::string all;
  for (const TypeTraits& known : kTypes) {
    if (known.name == text) return known.type;
    all += (all.empty() ? "" : ", ") + std::string(known.name);
  }
  return error(Code::invalid_argument, "'{}' is no element type; there are {}", text, all);
}

Bytes size_of(ElementType type) { return Bytes(traits(type).size); }
bool is_integer(ElementType type) { return traits(type).integer; }

}  // namespace mneme
