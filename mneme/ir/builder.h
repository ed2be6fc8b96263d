// New instructions, at one place of a function.
//
// What LLVM would assert on is refused with invalid_argument: types, counts, what is local to another function, an instruction
// behind the end of a block. What only the whole function tells (dominance, phis, arguments that must be constants) is told by
// verify(). Nothing is folded: each call makes an instruction. New instructions get the source line of what they stand before,
// else of what stands before them, else line 0 of a function that has debug information.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/ir/handles.h"

namespace mneme::ir {

struct MemoryOrder {
  std::string ordering;  // "monotonic", "acquire", …; empty: not atomic
  std::string scope;     // as in syncscope("…"); empty: everybody
};
struct AccessOptions {
  uint64_t alignment = 0;  // bytes; 0: what the type has by the data layout
  bool is_volatile = false;
  MemoryOrder order;
};

class Builder {
 public:
  static Result<Builder> at_end(const ValueRef& block);
  static Result<Builder> before(const ValueRef& instruction);

  // "add", "fmul", "ashr", …; "fneg".
  Result<ValueRef> binary(const std::string& opcode, const ValueRef& a, const ValueRef& b, const std::string& name) const;
  Result<ValueRef> negate(const ValueRef& value, const std::string& name) const;
  // "slt", "oeq", …: by the type of the operands.
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

  Result<ValueRef> phi(const TypeRef& type, const std::string& name) const;  // behind the phis that its block has
  Result<ValueRef> branch(const ValueRef& block) const;
  Result<ValueRef> conditional_branch(const ValueRef& condition, const ValueRef& then, const ValueRef& otherwise) const;
  Result<ValueRef> switch_on(const ValueRef& value, const ValueRef& otherwise,
                             const std::vector<std::pair<ValueRef, ValueRef>>& cases) const;
  Result<ValueRef> ret(const std::optional<ValueRef>& value) const;
  Result<ValueRef> unreachable() const;

  // `type`: the signature, which a function has itself and a pointer has not.
  Result<ValueRef> call(const ValueRef& callee, const std::vector<ValueRef>& arguments, const std::optional<TypeRef>& type,
                        const std::string& name) const;
  // By its name, "llvm.fma" or "llvm.nvvm.barrier.cta.sync.aligned.all", without the types that LLVM adds to it: they follow from
  // the arguments, and from `result` where they do not.
  Result<ValueRef> intrinsic(const std::string& intrinsic, const std::vector<ValueRef>& arguments,
                             const std::optional<TypeRef>& result, const std::string& name) const;
  Result<ValueRef> inline_assembly(const std::string& text, const std::string& constraints, const TypeRef& type,
                                   const std::vector<ValueRef>& arguments, bool has_side_effects, const std::string& name) const;

 private:
  explicit Builder(ValueRef place) : place_(std::move(place)) {}
  ValueRef place_;  // a block, at whose end it stands, or an instruction, before which it stands
};

}  // namespace mneme::ir
