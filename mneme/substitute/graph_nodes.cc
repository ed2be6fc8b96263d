#include "mneme/substitute/graph_nodes.h"

namespace mneme::substitute {

Status check_set(bool is_set, int code) {
  if (is_set) return {};
  return error(Code::device_fault, "setting the deployed code for a node of a graph returned {}", code);
}

const DeployedCode::Substitute* find_for_node(void* node, NodeKernel& kernel, NodeVendor& vendor) {
  vendor.add_attributes(node, kernel);
  return process()->code.find({kernel.function, kernel.shape, kernel.arguments, nullptr, kernel.odd, true}, process()->registry,
                              vendor.loader());
}

void deploy_into_node(void* node, NodeKernel own, NodeVendor& vendor) {
  // What the program has given may be what it was told of this node, which its call has freed.
  const auto made = vendor.get(node);
  if (!made) return;
  own.arguments = made->arguments;
  const auto* const by = find_for_node(node, own, vendor);
  if (!by) return;
  DeployedCode& code = process()->code;
  const NodeKernel deployed{by->handle, by->shape, own.arguments};
  if (const Status set = vendor.set(node, deployed); !set.ok()) return code.end(*by, set);
  // A vendor that tells another handle would tell the program of a kernel that it does not know.
  const auto held = vendor.get(node);
  if (!held || program_kernel(*held)) return code.end(*by);
  (void)vendor.set(node, {own.function, own.shape, held->arguments});
  code.end_without(*by);
}

std::optional<NodeKernel> program_kernel(const NodeKernel& held) {
  const auto replaced = process()->code.replaced_by(held.function, held.shape);
  if (!replaced) return std::nullopt;
  return NodeKernel{replaced->function, replaced->shape, held.arguments, held.odd};
}

std::optional<NodeKernel> take_back(void* node, NodeVendor& vendor) {
  const auto held = vendor.get(node);
  if (!held) return std::nullopt;
  const auto own = program_kernel(*held);
  if (!own) return held;
  if (!vendor.set(node, *own).ok()) return std::nullopt;
  return vendor.get(node);  // the arguments may lie elsewhere now
}

}  // namespace mneme::substitute
