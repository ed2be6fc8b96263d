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
  bool odd = false;            // as ProgramLaunch::odd
};

// Where attributes of a node are read: those of another node, or one of them as it is about to be.
struct NodeAttributes {
  void* node = nullptr;
  int id = -1;                  // the vendor's
  const void* value = nullptr;  // of this one, which is not read of the node
};

// For NodeVendor::add_attributes(): adds what each attribute of either vendor says, as the vendor gives it; an extent that is not
// asked for is 0.
void take_attributes(NodeKernel& kernel, bool cooperative, const Dim3& cluster, const Dim3& preferred_cluster,
                     bool device_updatable);

// What the vendor has for nodes. No call leaves an error behind that the program would find.
class NodeVendor {
 public:
  virtual ~NodeVendor() = default;
  virtual CodeLoader& loader() = 0;
  // What the node holds, without its attributes; nothing: it is no node of a kernel, or the vendor does not tell.
  virtual std::optional<NodeKernel> get(void* node) = 0;
  // Returns the vendor's code, which is 0 where the kernel was set.
  virtual int set(void* node, const NodeKernel& kernel) = 0;
  // Adds what these attributes say of a launch, and whether deployed code may stand in the node at all.
  virtual void add_attributes(void* node, const NodeAttributes& attributes, NodeKernel& kernel) = 0;
};

// To be called when the program has made a node of this kernel, or has set it there. Its arguments are asked of the node.
void deploy_into_node(void* node, NodeKernel own, NodeVendor& vendor);
// To be called when the program sets this kernel for a node of an executable graph: `with` makes its call with another kernel,
// quietly, and `own` the call as it is. Returns what the program gets.
template <typename R, typename With, typename Own>
R deploy_into_executable(void* node, NodeKernel kernel, NodeVendor& vendor, R success, With with, Own own);

// The program's kernel where the node has deployed code in its place; nothing: it has not.
std::optional<NodeKernel> program_kernel(const NodeKernel& held);
// To be called when the program changes attributes that conditions depend on: `change` makes its call, and `after` is what it
// makes of them. Where that decides otherwise about the node, the program's own kernel is put back before; where that fails, the
// change is not made, and the program gets the failure. A node that is not decided otherwise is not set: what the program was
// told of it stays. Returns what the program gets.
template <typename R, typename Change>
R change_attributes(void* node, const NodeAttributes& after, NodeVendor& vendor, Change change);

// The code that has the kernel's place where the node has these attributes; null: none has.
const DeployedCode::Substitute* find_for_node(void* node, const NodeAttributes& attributes, NodeKernel& kernel,
                                              NodeVendor& vendor);
// Whether a node holds this code, in its shape.
bool holds(const NodeKernel& held, const DeployedCode::Substitute& by);
Status check_set(int code);

template <typename R, typename With, typename Own>
R deploy_into_executable(void* node, NodeKernel kernel, NodeVendor& vendor, R success, With with, Own own) {
  const auto* const by = find_for_node(node, {node}, kernel, vendor);
  if (!by) return own();
  const R set = with(NodeKernel{by->handle, by->shape, kernel.arguments});
  if (set == success) {
    process()->code.end(*by);
    return set;
  }
  const R made = own();
  made == success ? process()->code.end(*by, check_set(static_cast<int>(set))) : process()->code.end_without(*by);
  return made;
}

template <typename R, typename Change>
R change_attributes(void* node, const NodeAttributes& after, NodeVendor& vendor, Change change) {
  const auto held = vendor.get(node);
  auto own = held ? program_kernel(*held) : std::nullopt;
  if (!own) {
    const R code = change();
    if (held && code == R{}) deploy_into_node(node, *held, vendor);
    return code;
  }
  const auto* const by = find_for_node(node, after, *own, vendor);
  const bool stays = by && holds(*held, *by);
  if (!stays)
    if (const int code = vendor.set(node, *own); code != 0) return static_cast<R>(code);
  const R code = change();
  if (code == R{} && stays) process()->code.end(*by);
  if (code == R{} && by && !stays) deploy_into_node(node, *own, vendor);
  return code;
}

}  // namespace mneme::substitute
