// Builder: makes new instructions at one place of a function.
//
// What LLVM would assert on is refused with invalid_argument: wrong types or counts, a value that is local to another function,
// an instruction behind the end of a block. Errors that only the whole function shows (dominance, phis, arguments that must be
// constants) are found by verify(). Nothing is folded: each call makes an instruction.
//
// A new instruction gets the source line of the instruction that it stands before; at the end of a block, that of the one before
// it. Where there is none, it gets line 0 if the function has debug information.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

struct MemoryOrder {
  std::string ordering;  // "monotonic", "acquire", …; empty: the access is not atomic
  std::string scope;     // as in syncscope("…"); empty: the whole system
};
struct AccessOptions {
  uint64_t alignment = 0;  // in bytes; 0: the alignment that the data layout gives the type
  bool is_volatile = false;
  MemoryOrder order;
};

class Builder {
 public:
  static Result<Builder> at_end(const ValueRef& block);
  static Result<Builder> before(const ValueRef& instruction);

  // `opcode` is that of textual IR: "add", "fmul", "ashr", … negate() makes an "fneg".
  Result<ValueRef> binary(const std::string& opcode, const ValueRef& a, const ValueRef& b, const std::string& name) const;
  Result<ValueRef> negate(const ValueRef& value, const std::string& name) const;
  // `predicate` is that of textual IR: "slt", … for integers and pointers, "oeq", … for floating-point numbers.
  Result<ValueRef> compare(const std::string& predicate, const ValueRef& a, const ValueRef& b, const std::string& name) const;
  Result<ValueRef> select(const ValueRef& condition, const ValueRef& a, const ValueRef& b, const std::string& name) const;
  Result<ValueRef> cast(const std::string& opcode, const ValueRef& value, const TypeRef& type, const std::string& name) const;
  Result<ValueRef> freeze(const ValueRef& value, const std::string& name) const;

  Result<ValueRef> extract_element(const ValueRef& vector, const ValueRef& index, const std::string& name) const;
  Result<ValueRef> insert_element(const ValueRef& vector, const ValueRef& element, const ValueRef& index,
                                  const std::string& name) const;
  Result<ValueRef> shuffle_vector(const ValueRef& a, const ValueRef& b, const std::vector<int>& mask,
                                  const std::string& name) const;
  Result<ValueRef> extract_value(const ValueRef& aggregate, const std::vector<unsigned>& indices, const std::string& name) const;
  Result<ValueRef> insert_value(const ValueRef& aggregate, const ValueRef& element, const std::vector<unsigned>& indices,
                                const std::string& name) const;

  Result<ValueRef> stack_memory(const TypeRef& type, const std::optional<ValueRef>& count, uint64_t alignment,
                                const std::string& name) const;
  Result<ValueRef> load(const TypeRef& type, const ValueRef& pointer, const AccessOptions& options,
                        const std::string& name) const;
  Result<ValueRef> store(const ValueRef& value, const ValueRef& pointer, const AccessOptions& options) const;
  Result<ValueRef> element_pointer(const TypeRef& type, const ValueRef& pointer, const std::vector<ValueRef>& indices,
                                   const std::string& name) const;
  Result<ValueRef> atomic_update(const std::string& operation, const ValueRef& pointer, const ValueRef& value,
                                 const AccessOptions& options, const std::string& name) const;
  Result<ValueRef> compare_exchange(const ValueRef& pointer, const ValueRef& expected, const ValueRef& replacement,
                                    const AccessOptions& options, const std::string& failure_ordering,
                                    const std::string& name) const;
  Result<ValueRef> fence(const MemoryOrder& order) const;

  Result<ValueRef> phi(const TypeRef& type, const std::string& name) const;  // stands behind the other phis of its block
  Result<ValueRef> branch(const ValueRef& block) const;
  Result<ValueRef> conditional_branch(const ValueRef& condition, const ValueRef& then, const ValueRef& otherwise) const;
  Result<ValueRef> switch_on(const ValueRef& value, const ValueRef& otherwise,
                             const std::vector<std::pair<ValueRef, ValueRef>>& cases) const;
  Result<ValueRef> ret(const std::optional<ValueRef>& value) const;
  Result<ValueRef> unreachable() const;

  // Calls a function or a pointer. `type` is the signature of the callee; it is needed for a pointer, which has none itself.
  Result<ValueRef> call(const ValueRef& callee, const std::vector<ValueRef>& arguments, const std::optional<TypeRef>& type,
                        const std::string& name) const;
  // Calls an intrinsic by its name without the types that LLVM adds: "llvm.fma", "llvm.nvvm.barrier.cta.sync.aligned.all". The
  // types follow from the arguments; where they do not, `result` gives them.
  Result<ValueRef> intrinsic(const std::string& intrinsic, const std::vector<ValueRef>& arguments,
                             const std::optional<TypeRef>& result, const std::string& name) const;
  Result<ValueRef> inline_assembly(const std::string& text, const std::string& constraints, const TypeRef& type,
                                   const std::vector<ValueRef>& arguments, bool has_side_effects, const std::string& name) const;

 private:
  explicit Builder(ValueRef place) : place_(std::move(place)) {}
  ValueRef place_;  // a block, at whose end instructions are put, or an instruction, before which they are put
};

}  // namespace mneme::ir
