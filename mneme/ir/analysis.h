// What LLVM knows about a function as it is now: values, which later changes of the function do not touch and may make wrong.
//
// All of it is asked of valid IR only: corrupt otherwise, in the verifier's words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/ir/handles.h"
#include "mneme/ir/module_ref.h"

namespace mneme::ir {

struct Loop {
  ValueRef header;
  std::vector<ValueRef> blocks;
  std::vector<ValueRef> latches;  // blocks that lead back to the header
  std::vector<ValueRef> exits;    // blocks outside that it leads to
  std::optional<ValueRef> preheader;
  unsigned depth = 1;                  // 1 for one that is in no other
  std::optional<size_t> parent;        // its place in the list
  std::optional<uint64_t> trip_count;  // how often the header runs, where it is a constant
  std::optional<ValueRef> induction;   // the phi that counts, in simple loops
};
// Outer loops before inner ones.
Result<std::vector<Loop>> loops(const ValueRef& function);

enum class Direction { from_entry, from_exit };
struct DominatorNode {
  ValueRef block;
  std::optional<ValueRef> immediate;  // nothing for the root, and where only the virtual exit is
};
// Of the reachable blocks, parents before children.
Result<std::vector<DominatorNode>> dominators(const ValueRef& function, Direction direction);

struct CallEdge {
  ValueRef caller;
  std::optional<ValueRef> callee;  // nothing for calls of pointers and inline assembly
  uint64_t calls = 0;
};
// In the order of the callers; intrinsics are functions, too.
Result<std::vector<CallEdge>> call_graph(const ModuleRef& module);

// Instructions by opcode.
Result<std::map<std::string, uint64_t>> opcode_counts(const ValueRef& function);

// A function as numbers, for learning. Names and their order stay for a version of Mneme; docs/reference/features.md says each.
const std::vector<std::string>& feature_names();
Result<std::vector<double>> features(const ValueRef& function);

}  // namespace mneme::ir
