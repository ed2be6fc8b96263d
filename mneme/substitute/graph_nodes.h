// Kernels in the nodes of graphs that the program builds itself: deployed code takes their place when a node is made or changed,
// as it does when a launch is captured.
//
// The program's own node is always made first, by its own call. Deployed code is then set into it, so that the node stays the
// program's own whatever fails. What the program asks a node for, its own kernel and its own shape are what it is told.
#pragma once

#include <optional>

#include "mneme/substitute/process.h"

namespace mneme::substitute {

// A kernel as a node has it.
struct NodeKernel {
  const void* function = nullptr;  // the program's, or the handle of deployed code
  ProgramShape shape;
  void** arguments = nullptr;  // where they are the node's own, until it is set
  bool odd = false;  // as ProgramLaunch::odd
};

// What the vendor has for nodes. No call leaves an error behind that the program would find.
class NodeVendor {
 public:
  virtual ~NodeVendor() = default;
  virtual CodeLoader& loader() = 0;
  // What the node holds, without its attributes; nothing: it is no node of a kernel, or the vendor does not tell.
  virtual std::optional<NodeKernel> get(void* node) = 0;
  virtual Status set(void* node, const NodeKernel& kernel) = 0;
  // Adds what the node's attributes say of a launch, and whether deployed code may stand there at all.
  virtual void add_attributes(void* node, NodeKernel& kernel) = 0;
};

// To be called when the program has made a node of this kernel, or has set it there. Its arguments are asked of the node.
void deploy_into_node(void* node, NodeKernel own, NodeVendor& vendor);
// To be called when the program sets this kernel for a node of an executable graph: `with` makes its call with another kernel,
// quietly, and `own` the call as it is. Returns what the program gets.
template <typename R, typename With, typename Own>
R deploy_into_executable(void* node, NodeKernel kernel, NodeVendor& vendor, R success, With with, Own own);

// The program's kernel where the node has deployed code in its place; nothing: it has not.
std::optional<NodeKernel> program_kernel(const NodeKernel& held);
// Puts the program's own kernel back, before the program changes attributes that conditions depend on. Returns the kernel, for
// deploy_into_node(); nothing: the vendor does not tell.
std::optional<NodeKernel> take_back(void* node, NodeVendor& vendor);

// The code that has the kernel's place; null: none has.
const DeployedCode::Substitute* find_for_node(void* node, NodeKernel& kernel, NodeVendor& vendor);
Status check_set(bool is_set, int code);

template <typename R, typename With, typename Own>
R deploy_into_executable(void* node, NodeKernel kernel, NodeVendor& vendor, R success, With with, Own own) {
  const auto* const by = find_for_node(node, kernel, vendor);
  if (!by) return own();
  const R set = with(NodeKernel{by->handle, by->shape, kernel.arguments});
  if (set == success) {
    process()->code.end(*by);
    return set;
  }
  const R made = own();
  made == success ? process()->code.end(*by, check_set(false, static_cast<int>(set))) : process()->code.end_without(*by);
  return made;
}

}  // namespace mneme::substitute
