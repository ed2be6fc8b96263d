// Graphs: what the program makes to be run, what it changes of that, and its launches, which are launches of all kernels in it.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/graphs.h"

namespace mneme::driver {
namespace {

// The executable graphs of the program, by their handles.
class Graphs {
 public:
  void add(CUgraphExec handle, std::shared_ptr<ExecutableGraph> graph) {
    std::unique_lock lock(mutex_);
    graphs_[handle].swap(graph);
  }
  std::shared_ptr<ExecutableGraph> find(CUgraphExec handle) const {
    std::shared_lock lock(mutex_);
    const auto found = graphs_.find(handle);
    return found == graphs_.end() ? nullptr : found->second;
  }
  // What it had is the caller's to destroy, without the lock.
  std::shared_ptr<ExecutableGraph> remove(CUgraphExec handle) {
    std::unique_lock lock(mutex_);
    auto found = graphs_.extract(handle);
    return found.empty() ? nullptr : std::move(found.mapped());
  }
  // The program destroys a graph, or a node, that some may need.
  template <typename Needs>
  void lose_original(Needs needs) {
    std::vector<std::shared_ptr<ExecutableGraph>> lost;
    {
      std::shared_lock lock(mutex_);
      for (const auto& [handle, graph] : graphs_)
        if (needs(*graph)) lost.push_back(graph);
    }
    for (const auto& graph : lost) graph->lose_original();
  }
  // Forgets those of a device, and destroys nothing of what may be gone already.
  void abandon(int device) {
    std::unique_lock lock(mutex_);
    std::erase_if(graphs_, [&](auto& known) {
      if (known.second->device() != device) return false;
      abandoned_.push_back(std::move(known.second));
      return true;
    });
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<CUgraphExec, std::shared_ptr<ExecutableGraph>> graphs_;
  std::vector<std::shared_ptr<ExecutableGraph>> abandoned_;
};
Graphs& graphs() {
  static auto* all = new Graphs;
  return *all;
}

// Whether there is a graph that kernels can launch: some do when the graph ends that they are in, which would be the part.
std::atomic<bool> launched_from_device = false;

CUresult remember(CUresult code, const CUgraphExec* handle, CUgraph graph, uint64_t flags) {
  if (code != CUDA_SUCCESS) return code;
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) launched_from_device = true;
  auto device = front().current_device();
  graphs().add(*handle, std::make_shared<ExecutableGraph>(graph, flags, device.ok() ? std::optional(*device) : std::nullopt));
  return code;
}

template <mneme_driver_call kSlot>
CUresult on_instantiate(CUgraphExec* handle, CUgraph graph, CUgraphNode* wrong, char* words, size_t size) {
  using F = CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);
  return remember(next<kSlot, F>(handle, graph, wrong, words, size), handle, graph, 0);
}
CUresult on_instantiate_flags(CUgraphExec* handle, CUgraph graph, unsigned long long flags) {
  using F = CUresult (*)(CUgraphExec*, CUgraph, unsigned long long);
  return remember(next<MNEME_DRIVER_CALL_cuGraphInstantiateWithFlags, F>(handle, graph, flags), handle, graph, flags);
}
template <mneme_driver_call kSlot>
CUresult on_instantiate_parameters(CUgraphExec* handle, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  using F = CUresult (*)(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*);
  return remember(next<kSlot, F>(handle, graph, parameters), handle, graph, parameters ? parameters->flags : 0);
}

CUresult on_condition(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context, unsigned value, unsigned flags) {
  const CUresult code =
      MNEME_DRIVER(cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate)(handle, graph, context, value, flags);
  if (code == CUDA_SUCCESS) add_condition(graph, *handle, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0);
  return code;
}
template <mneme_driver_call kSlot, typename... A>
CUresult on_add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, A... rest) {
  const CUresult code = next<kSlot, CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, A...)>(node, graph, before, rest...);
  const CUgraphNodeParams* parameters = std::get<CUgraphNodeParams*>(std::tuple(rest...));
  if (code != CUDA_SUCCESS || !node || !parameters || parameters->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return code;
  const CUDA_CONDITIONAL_NODE_PARAMS& made = parameters->conditional;
  if (made.phGraph_out) add_bodies(graph, *node, {made.phGraph_out, made.phGraph_out + made.size});
  return code;
}
CUresult on_graph_destroy(CUgraph graph) {
  graphs().lose_original([&](const ExecutableGraph& one) { return one.original() == graph; });
  forget_conditions(graph);
  return MNEME_DRIVER(cuGraphDestroy, cuGraphDestroy)(graph);
}
CUresult on_node_destroy(CUgraphNode node) {
  graphs().lose_original([&](const ExecutableGraph& one) { return one.has_original(node); });
  forget_bodies(node);
  return MNEME_DRIVER(cuGraphDestroyNode, cuGraphDestroyNode)(node);
}

CUresult on_destroy(CUgraphExec handle) {
  const auto graph = graphs().remove(handle);  // before its handle may name another
  return MNEME_DRIVER(cuGraphExecDestroy, cuGraphExecDestroy)(handle);
}

// What is changed of an executable graph. `follow` changes the same of what the recorder knows of it.
template <mneme_driver_call kSlot, typename Follow, typename... P>
CUresult change(Follow follow, CUgraphExec handle, P... parameters) {
  const CUresult code = next<kSlot, CUresult (*)(CUgraphExec, P...)>(handle, parameters...);
  if (code == CUDA_SUCCESS)
    if (const auto graph = graphs().find(handle)) follow(*graph);
  return code;
}

// The name of the driver's function that sets the same of a node of a graph that is not executable.
template <size_t kSize>
struct Name {
  char text[kSize];
  constexpr Name(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
};
template <Name kSetter, typename P>
void set_parameters(ExecutableGraph& graph, CUgraphNode node, P parameters) {
  using Set = CUresult (*)(CUgraphNode, P);
  static const auto set = reinterpret_cast<Set>(front().find(kSetter.text));
  graph.set_parameters(node, set, parameters);
}

template <mneme_driver_call kSlot, Name kSetter, typename P>
CUresult on_set(CUgraphExec handle, CUgraphNode node, P parameters) {
  return change<kSlot>([&](ExecutableGraph& graph) { set_parameters<kSetter>(graph, node, parameters); }, handle, node,
                       parameters);
}
// The context must be the one that the node has already.
template <mneme_driver_call kSlot, Name kSetter, typename P>
CUresult on_set_in_context(CUgraphExec handle, CUgraphNode node, P parameters, CUcontext context) {
  return change<kSlot>([&](ExecutableGraph& graph) { set_parameters<kSetter>(graph, node, parameters); }, handle, node,
                       parameters, context);
}
CUresult on_set_child(CUgraphExec handle, CUgraphNode node, CUgraph child) {
  return change<MNEME_DRIVER_CALL_cuGraphExecChildGraphNodeSetParams>(
      [&](ExecutableGraph& graph) { graph.set_child(node, child); }, handle, node, child);
}
CUresult on_set_any(CUgraphExec handle, CUgraphNode node, CUgraphNodeParams* parameters) {
  return change<MNEME_DRIVER_CALL_cuGraphExecNodeSetParams>(
      [&](ExecutableGraph& graph) {
        if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) return graph.set_child(node, parameters->graph.graph);
        set_parameters<"cuGraphNodeSetParams">(graph, node, parameters);
      },
      handle, node, parameters);
}
CUresult on_set_enabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  return change<MNEME_DRIVER_CALL_cuGraphNodeSetEnabled>([&](ExecutableGraph& graph) { graph.set_enabled(node, enabled != 0); },
                                                         handle, node, enabled);
}
template <mneme_driver_call kSlot, typename... P>
CUresult on_update(CUgraphExec handle, CUgraph graph, P... results) {
  return change<kSlot>([&](ExecutableGraph& known) { graphs().add(handle, known.updated(graph)); }, handle, graph, results...);
}

// A kernel of a graph that is to be recorded when the graph is run.
struct Selected {
  Launch launch;
  Recorder::CapturePtr capture;
};
using SelectedKernels = std::map<const GraphNode*, Selected>;

// Counts the kernels of one launch of the graph, each as a launch.
SelectedKernels select(ExecutableGraph& graph) {
  SelectedKernels selected;
  const CUcontext current = front().current_context();
  if (LaunchGroup* group = graph.group(current); group && recorder()->count_group(*group)) return selected;
  const auto group = recorder()->begin_group();
  for (const GraphNode* node : graph.kernels()) {
    if (!node->enabled) continue;
    if (node->context && node->context != current) {
      Launch elsewhere = *node->launch;
      if (!elsewhere.refusal) elsewhere.refusal = NotRecorded::other_context;
      recorder()->select_launch(elsewhere, group.get());
    } else if (auto capture = recorder()->select_launch(*node->launch, group.get())) {
      selected.emplace(node, Selected{*node->launch, std::move(capture)});
    }
  }
  for (const GraphNode& node : graph.body_kernels()) recorder()->select_launch(*node.launch, group.get());
  graph.set_group(recorder()->keep_group(group, front()), current);
  return selected;
}

void pass(SelectedKernels& selected, NotRecorded reason) {
  for (auto& [node, one] : selected)
    if (one.capture) recorder()->pass(std::move(one.capture), reason);
}

Result<std::vector<ExecutableGraph::Part>> split(const ExecutableGraph& graph, const SelectedKernels& selected) {
  std::set<const GraphNode*> alone;
  for (const auto& [node, one] : selected) alone.insert(node);
  return graph.split(alone);
}

// Kernels that are parts of their own are disabled in the program's executable while that is one of the parts, until it is
// launched: what is enabled then is the next launch's.
class Disabled {
 public:
  Disabled(ExecutableGraph& graph, CUgraphExec handle, const std::vector<ExecutableGraph::Part>& parts)
      : handle_(handle), in_use_(graph.in_use()) {
    in_use_.acquire();
    for (const auto& part : parts)
      for (CUgraphNode node : part.without) {
        ok_ = ok_ && !graph.has_lost_original() && set_enabled(node, 0) == CUDA_SUCCESS;
        if (ok_) nodes_.push_back(node);
      }
  }
  ~Disabled() {
    for (CUgraphNode node : nodes_)
      if (set_enabled(node, 1) != CUDA_SUCCESS) log::warning("a kernel that was disabled in a graph cannot be enabled again");
    in_use_.release();
  }
  Disabled(const Disabled&) = delete;
  Disabled& operator=(const Disabled&) = delete;
  bool ok() const { return ok_; }

 private:
  CUresult set_enabled(CUgraphNode node, unsigned enabled) {
    return MNEME_DRIVER(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled)(handle_, node, enabled);
  }
  const CUgraphExec handle_;
  std::binary_semaphore& in_use_;
  std::vector<CUgraphNode> nodes_;
  bool ok_ = true;
};

CUgraphExec executable_of(const ExecutableGraph::Part& part, CUgraphExec handle) {
  return part.graph ? part.graph.get() : handle;
}

// Runs the parts in place of the graph. `run` runs one, as the program has run the graph. Nobody who destroys the program's graph
// waits for what the device does behind its executable, in which there may be calls of the host.
template <typename Run>
CUresult run_parts(const std::vector<ExecutableGraph::Part>& parts, CUgraphExec handle, SelectedKernels& selected,
                   std::optional<Disabled>& disabled, Run run) {
  for (const auto& part : parts) {
    Selected* one = part.kernel ? &selected.at(part.kernel) : nullptr;
    Recorder::CapturePtr capture = one ? recorder()->begin_launch(std::move(one->capture), one->launch) : nullptr;
    const CUresult code = run(executable_of(part, handle));
    if (!part.graph) disabled.reset();
    if (capture) recorder()->end_launch(std::move(capture), code == CUDA_SUCCESS);
    if (code != CUDA_SUCCESS) return pass(selected, NotRecorded::launch_failed), code;
  }
  return CUDA_SUCCESS;
}

// What the driver would order by the executable graph, a launch before this one and the next, is waited for.
template <typename Run>
CUresult launch(ExecutableGraph& graph, CUgraphExec handle, SelectedKernels selected, Run run) {
  auto parts = split(graph, selected);
  if (!parts.ok()) {
    log::debug("a graph is not run in parts: {}", parts.status().message());
    graph.refuse(NotRecorded::graph_untold);
  }
  auto reason = parts.ok() ? recorder()->wait_for_device(front()) : NotRecorded::graph_untold;
  if (reason) return pass(selected, *reason), run(handle);
  std::optional<Disabled> disabled(std::in_place, graph, handle, *parts);
  if (!disabled->ok()) {
    disabled.reset();
    graph.refuse(NotRecorded::graph_untold);
    return pass(selected, NotRecorded::graph_untold), run(handle);
  }
  const CUresult code = run_parts(*parts, handle, selected, disabled, run);
  if (code == CUDA_SUCCESS) recorder()->wait_for_device(front());
  return code;
}

// Of the kernels of a launch under `mneme profile`, those that are timed: so many at most, since each is a part of its own.
constexpr size_t kMostSamplesOfALaunch = 32;

struct ProfiledLaunch {
  std::set<const GraphNode*> samples;
  std::vector<const GraphNode*> others;
  std::shared_ptr<LaunchGroup> group = recorder()->begin_group();
};
// `can_be_timed`: whether the graph can be run in parts in that stream.
ProfiledLaunch choose_samples(const ExecutableGraph& graph, CUcontext current, bool can_be_timed) {
  ProfiledLaunch chosen;
  for (const GraphNode* node : graph.kernels()) {
    if (!node->enabled) continue;
    recorder()->select_launch(*node->launch);
    const bool is_full = chosen.samples.size() == kMostSamplesOfALaunch;
    const bool can_be_sample = can_be_timed && !node->launch->refusal && (!node->context || node->context == current);
    if (can_be_sample && is_full) chosen.group->keep_open();
    if (can_be_sample && !is_full && recorder()->is_sample(*node->launch, *chosen.group))
      chosen.samples.insert(node);
    else
      chosen.others.push_back(node);
  }
  for (const GraphNode& node : graph.body_kernels()) {
    recorder()->select_launch(*node.launch);
    chosen.others.push_back(&node);
  }
  return chosen;
}

// Runs the parts in place of the graph, and times kernels that are alone in one. That is done in a thread of its own, since what
// times launches tells them apart by the call that the program has made: there each part is a call.
template <typename Run>
CUresult time_parts(const std::vector<ExecutableGraph::Part>& parts, CUgraphExec handle, CUstream stream,
                    std::optional<Disabled>& disabled, Run run) {
  CUresult code = CUDA_SUCCESS;
  front().run_in_own_thread([&] {
    for (size_t i = 0; i < parts.size() && code == CUDA_SUCCESS; ++i) {
      const auto timed = parts[i].kernel ? recorder()->begin_timing(*parts[i].kernel->launch, nullptr, stream) : std::nullopt;
      code = run(executable_of(parts[i], handle));
      if (!parts[i].graph) disabled.reset();
      recorder()->end_timing(timed, code == CUDA_SUCCESS);
    }
  });
  return code;
}

// Where nothing is recorded. Of each kernel and shape some launches are timed, and all are counted.
template <typename Run>
CUresult launch_profiled(ExecutableGraph& graph, CUgraphExec handle, CUstream stream, Run run) {
  const CUcontext current = front().current_context();
  if (LaunchGroup* group = graph.group(current); group && recorder()->is_current(*group)) {
    const CUresult code = run(handle);
    if (code == CUDA_SUCCESS)
      recorder()->count_group(*group);
    else if (auto* report = recorder()->report())
      report->launches += group->launches();
    return code;
  }
  ProfiledLaunch chosen = choose_samples(graph, current, graph.has_parts() && stream != CU_STREAM_PER_THREAD);
  auto parts = chosen.samples.empty() ? Result(std::vector<ExecutableGraph::Part>()) : graph.split(chosen.samples);
  if (!parts.ok()) graph.refuse(NotRecorded::graph_untold);
  std::optional<Disabled> disabled;
  if (!chosen.samples.empty() && parts.ok() && !recorder()->wait_for_device(front())) disabled.emplace(graph, handle, *parts);
  if (disabled && !disabled->ok()) disabled.reset(), graph.refuse(NotRecorded::graph_untold);
  const bool in_parts = disabled.has_value();
  const CUresult code = in_parts ? time_parts(*parts, handle, stream, disabled, run) : run(handle);
  if (code != CUDA_SUCCESS) return code;
  if (in_parts) recorder()->wait_for_device(front());
  disabled.reset();
  if (!in_parts) chosen.others.insert(chosen.others.end(), chosen.samples.begin(), chosen.samples.end());
  for (const GraphNode* node : chosen.others) recorder()->count_untimed(*node->launch, *chosen.group);
  graph.set_group(recorder()->keep_group(chosen.group, front()), current);
  return code;
}

// The program has it from where no hook sees it.
void count_unknown() {
  if (auto* report = recorder()->report()) {
    ++report->launches;
    report->count(NotRecorded::graph_untold, "");
  }
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch(CUgraphExec handle, CUstream stream) {
  const auto run = [&](CUgraphExec graph) {
    Gate::Use use(recorder()->gate());
    return next<kSlot, CUresult (*)(CUgraphExec, CUstream)>(graph, stream);
  };
  if (front().is_capturing(stream_of_call<kPerThread>(stream))) return run(handle);
  const auto graph = graphs().find(handle);
  if (!graph) return count_unknown(), run(handle);
  if (launched_from_device) graph->refuse(NotRecorded::graph_nodes);
  if (graph->has_lost_original()) graph->refuse(*graph->held());
  for (const MemoryRange& memory : graph->allocations())
    recorder()->remember_foreign(memory.address.address, memory.size.count, NotRecorded::pool_memory);
  if (recorder()->profiles_only()) return launch_profiled(*graph, handle, stream_of_call<kPerThread>(stream), run);
  SelectedKernels selected = select(*graph);
  return selected.empty() ? run(handle) : launch(*graph, handle, std::move(selected), run);
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

void forget_graphs(int device) { graphs().abandon(device); }

std::vector<DriverHook> graph_hooks() {
  using Kernel1 = const CUDA_KERNEL_NODE_PARAMS_v1*;
  using Kernel2 = const CUDA_KERNEL_NODE_PARAMS_v2*;
  using Copy = const CUDA_MEMCPY3D*;
  using Fill = const CUDA_MEMSET_NODE_PARAMS*;
  using Host = const CUDA_HOST_NODE_PARAMS*;
  return {
      MNEME_HOOK(cuGraphInstantiate, on_instantiate<MNEME_DRIVER_CALL_cuGraphInstantiate>),
      MNEME_HOOK(cuGraphInstantiate_v2, on_instantiate<MNEME_DRIVER_CALL_cuGraphInstantiate_v2>),
      MNEME_HOOK(cuGraphInstantiateWithFlags, on_instantiate_flags),
      MNEME_HOOK(cuGraphInstantiateWithParams, on_instantiate_parameters<MNEME_DRIVER_CALL_cuGraphInstantiateWithParams>),
      MNEME_HOOK(cuGraphInstantiateWithParams_ptsz,
                 on_instantiate_parameters<MNEME_DRIVER_CALL_cuGraphInstantiateWithParams_ptsz>),
      MNEME_HOOK(cuGraphExecDestroy, on_destroy),
      MNEME_HOOK(cuGraphConditionalHandleCreate, on_condition),
      MNEME_HOOK(cuGraphAddNode, on_add_node<MNEME_DRIVER_CALL_cuGraphAddNode, size_t, CUgraphNodeParams*>),
      MNEME_HOOK(cuGraphAddNode_v2,
                 on_add_node<MNEME_DRIVER_CALL_cuGraphAddNode_v2, const CUgraphEdgeData*, size_t, CUgraphNodeParams*>),
      MNEME_HOOK(cuGraphDestroy, on_graph_destroy),
      MNEME_HOOK(cuGraphDestroyNode, on_node_destroy),
      // changes
      MNEME_HOOK(cuGraphExecUpdate, on_update<MNEME_DRIVER_CALL_cuGraphExecUpdate, CUgraphNode*, CUgraphExecUpdateResult*>),
      MNEME_HOOK(cuGraphExecUpdate_v2, on_update<MNEME_DRIVER_CALL_cuGraphExecUpdate_v2, CUgraphExecUpdateResultInfo*>),
      MNEME_HOOK(cuGraphExecKernelNodeSetParams,
                 on_set<MNEME_DRIVER_CALL_cuGraphExecKernelNodeSetParams, "cuGraphKernelNodeSetParams", Kernel1>),
      MNEME_HOOK(cuGraphExecKernelNodeSetParams_v2,
                 on_set<MNEME_DRIVER_CALL_cuGraphExecKernelNodeSetParams_v2, "cuGraphKernelNodeSetParams_v2", Kernel2>),
      MNEME_HOOK(cuGraphExecMemcpyNodeSetParams,
                 on_set_in_context<MNEME_DRIVER_CALL_cuGraphExecMemcpyNodeSetParams, "cuGraphMemcpyNodeSetParams", Copy>),
      MNEME_HOOK(cuGraphExecMemsetNodeSetParams,
                 on_set_in_context<MNEME_DRIVER_CALL_cuGraphExecMemsetNodeSetParams, "cuGraphMemsetNodeSetParams", Fill>),
      MNEME_HOOK(cuGraphExecHostNodeSetParams,
                 on_set<MNEME_DRIVER_CALL_cuGraphExecHostNodeSetParams, "cuGraphHostNodeSetParams", Host>),
      MNEME_HOOK(cuGraphExecEventRecordNodeSetEvent,
                 on_set<MNEME_DRIVER_CALL_cuGraphExecEventRecordNodeSetEvent, "cuGraphEventRecordNodeSetEvent", CUevent>),
      MNEME_HOOK(cuGraphExecEventWaitNodeSetEvent,
                 on_set<MNEME_DRIVER_CALL_cuGraphExecEventWaitNodeSetEvent, "cuGraphEventWaitNodeSetEvent", CUevent>),
      MNEME_HOOK(cuGraphExecChildGraphNodeSetParams, on_set_child),
      MNEME_HOOK(cuGraphExecNodeSetParams, on_set_any),
      MNEME_HOOK(cuGraphNodeSetEnabled, on_set_enabled),
      // launches
      MNEME_HOOK(cuGraphLaunch, on_launch<MNEME_DRIVER_CALL_cuGraphLaunch, false>),
      MNEME_HOOK(cuGraphLaunch_ptsz, on_launch<MNEME_DRIVER_CALL_cuGraphLaunch_ptsz, true>),
  };
}

}  // namespace mneme::driver
