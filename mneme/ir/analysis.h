// What LLVM's analyses say of a function as it is now. The answers are copies: when the function changes later, they stay as they
// are, and may then be wrong.
//
// All but opcode_counts() want valid IR. They return corrupt otherwise, in the verifier's words.
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
  std::vector<ValueRef> exits;    // blocks outside of the loop that it leads to
  std::optional<ValueRef> preheader;
  unsigned depth = 1;                  // 1 for a loop that is in no other
  std::optional<size_t> parent;        // the loop around this one: its place in the list that loops() returns
  std::optional<uint64_t> trip_count;  // how often the header runs, where that is a constant
  std::optional<ValueRef> induction;   // the phi that counts the iterations, in simple loops
};
// The loops of a function, outer ones before those in them.
Result<std::vector<Loop>> loops(const ValueRef& function);

enum class Direction { from_entry, from_exit };
struct DominatorNode {
  ValueRef block;
  std::optional<ValueRef> immediate;  // the immediate dominator; nothing where there is none but LLVM's virtual exit
};
// The tree of dominators (from_entry) or of post-dominators (from_exit) of a function's reachable blocks, parents before
// children.
Result<std::vector<DominatorNode>> dominators(const ValueRef& function, Direction direction);

struct CallEdge {
  ValueRef caller;
  std::optional<ValueRef> callee;  // nothing for calls through pointers and inline assembly
  uint64_t calls = 0;              // how many call instructions there are
};
// Who calls whom, in the order of the callers in the module. Intrinsics count as functions.
Result<std::vector<CallEdge>> call_graph(const ModuleRef& module);

// How many instructions of each opcode the function has.
Result<std::map<std::string, uint64_t>> opcode_counts(const ValueRef& function);

// A function as a list of numbers, for machine learning. feature_names() names them, in the same order, which stays the same
// within a version of Mneme. docs/reference/features.md explains each.
const std::vector<std::string>& feature_names();
Result<std::vector<double>> features(const ValueRef& function);

}  // namespace mneme::ir
