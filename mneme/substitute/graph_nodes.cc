#include "mneme/substitute/graph_nodes.h"

namespace mneme::substitute {

void take_attributes(NodeKernel& kernel, bool cooperative, const Dim3& cluster, const Dim3& preferred_cluster,
                     bool device_updatable) {
  const auto is_asked_for = [](const Dim3& extents) { return uint64_t{extents.x} * extents.y * extents.z > 1; };
  kernel.shape.cooperative = cooperative;
  if (is_asked_for(cluster)) kernel.shape.cluster = cluster;
  kernel.odd = kernel.odd || (is_asked_for(preferred_cluster) && preferred_cluster != kernel.shape.cluster) || device_updatable;
}

Status check_set(int code) {
  if (code == 0) return {};
  return error(Code::device_fault, "setting the deployed code for a node of a graph returned {}", code);
}

const DeployedCode::Substitute* find_for_node(void* node, const NodeAttributes& attributes, NodeKernel& kernel,
                                              NodeVendor& vendor) {
  // Of a rule that covers one shape the program's kernel has come with what was recorded.
  kernel.shape.cooperative = false;
  kernel.shape.cluster = ProgramShape().cluster;
  vendor.add_attributes(node, attributes, kernel);
  return process()->code.find({kernel.function, kernel.shape, kernel.arguments, nullptr, kernel.odd, true}, process()->registry,
                              vendor.loader());
}

void deploy_into_node(void* node, NodeKernel own, NodeVendor& vendor) {
  // What the program has given may be what it was told of this node, which its call has freed.
  const auto made = vendor.get(node);
  if (!made) return;
  own.arguments = made->arguments;
  const auto* const by = find_for_node(node, {node}, own, vendor);
  if (!by) return;
  DeployedCode& code = process()->code;
  const NodeKernel deployed{by->handle, by->shape, own.arguments};
  if (const Status set = check_set(vendor.set(node, deployed)); !set.ok()) return code.end(*by, set);
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

bool holds(const NodeKernel& held, const DeployedCode::Substitute& by) {
  return held.function == by.handle && held.shape.grid == by.shape.grid && held.shape.block == by.shape.block &&
         held.shape.shared == by.shape.shared;
}

}  // namespace mneme::substitute
