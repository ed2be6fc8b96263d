#include "mneme/hip/newer_functions.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "mneme/base/log.h"
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/shared_memory.h"

namespace mneme::hip {
namespace {

// The program's table, as a call of its own through it.
#define MNEME_SLOT(table, name) reinterpret_cast<decltype(&::name)>((table).abi().slots[MNEME_CALL_##name])

constexpr std::string_view kHandles = "whose modules and functions have other handles than those that the program was given";
constexpr std::string_view kLaunches = "what it launches is not counted and not recorded";
constexpr std::string_view kMemory = "what it allocates, frees or gives out is memory that no launch is recorded with";
constexpr std::string_view kCode = "kernels of that code carry nothing that Mneme finds: they run, and are not recorded";
constexpr std::string_view kNodes = "what graphs launch is not recorded: its kernels were counted when nodes were given them";
constexpr std::string_view kWrites = "what it writes is read when the next launch is recorded";
constexpr std::string_view kNothing = "it launches, allocates and frees nothing";

constexpr NewerFunction kNewer[] = {
    {"hipGetProcAddress", NewerTreatment::own, ""},
    {"hipGetProcAddress_spt", NewerTreatment::own, ""},
    {"hipGetDriverEntryPoint", NewerTreatment::own, ""},
    {"hipGetDriverEntryPoint_spt", NewerTreatment::own, ""},
    {"hipLaunchKernelExC", NewerTreatment::own, ""},
    {"hipModuleLaunchCooperativeKernel", NewerTreatment::refused, kHandles},
    {"hipModuleLaunchCooperativeKernelMultiDevice", NewerTreatment::refused, kHandles},
    {"hipGetFuncBySymbol", NewerTreatment::refused, kHandles},
    {"hipDrvLaunchKernelEx", NewerTreatment::refused, kHandles},
    {"hipModuleGetFunctionCount", NewerTreatment::refused, kHandles},
    {"hipModuleLoadFatBinary", NewerTreatment::refused, kHandles},
    {"hipLibraryGetModule", NewerTreatment::refused, kHandles},
    {"hipKernelGetFunction", NewerTreatment::refused, kHandles},
    {"hipExtGetLastError", NewerTreatment::own, ""},
    {"hipGraphLaunch_spt", NewerTreatment::own, ""},
    {"hipLaunchKernelBundledArgs", NewerTreatment::unseen, kLaunches},
    {"hipStreamBeginCapture_spt", NewerTreatment::own, ""},
    {"hipStreamEndCapture_spt", NewerTreatment::own, ""},
    {"hipStreamBeginCaptureToGraph", NewerTreatment::own, ""},
    {"hipGraphAddMemAllocNode", NewerTreatment::unseen, kMemory},
    {"hipMemSetMemPool", NewerTreatment::unseen, kMemory},
    {"hipLibraryGetGlobal", NewerTreatment::unseen, kMemory},
    {"hipLibraryGetManaged", NewerTreatment::unseen, kMemory},
    {"hipLibraryLoadData", NewerTreatment::unseen, kCode},
    {"hipLibraryLoadFromFile", NewerTreatment::unseen, kCode},
    {"hipLibraryGetKernel", NewerTreatment::unseen, kCode},
    {"hipLibraryEnumerateKernels", NewerTreatment::unseen, kCode},
    {"hipLinkComplete", NewerTreatment::unseen, kCode},
    {"hipGraphAddNode", NewerTreatment::own, ""},
    {"hipGraphNodeSetParams", NewerTreatment::own, ""},
    {"hipGraphExecNodeSetParams", NewerTreatment::own, ""},
    {"hipGraphInstantiateWithParams", NewerTreatment::unseen, kNodes},
    {"hipGraphKernelNodeCopyAttributes", NewerTreatment::unseen, kNodes},
    {"hipGraphNodeSetEnabled", NewerTreatment::unseen, kNodes},
    {"hipDeviceSetLimit", NewerTreatment::harmless, kNothing},
    {"hipStreamIsCapturing_spt", NewerTreatment::harmless, kNothing},
    {"hipStreamGetCaptureInfo_spt", NewerTreatment::harmless, kNothing},
    {"hipStreamGetCaptureInfo_v2_spt", NewerTreatment::harmless, kNothing},
    {"hipStreamAddCallback_spt", NewerTreatment::harmless, kNothing},
    {"hipMemsetAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemset2DAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemset3DAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpy3DAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpy2DAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpyFromSymbolAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpyToSymbolAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpyFromArray_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpy2DFromArrayAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipMemcpy2DToArrayAsync_spt", NewerTreatment::harmless, kWrites},
    {"hipDrvGetErrorName", NewerTreatment::harmless, kNothing},
    {"hipDrvGetErrorString", NewerTreatment::harmless, kNothing},
    {"hipUserObjectCreate", NewerTreatment::harmless, kNothing},
    {"hipUserObjectRelease", NewerTreatment::harmless, kNothing},
    {"hipUserObjectRetain", NewerTreatment::harmless, kNothing},
    {"hipGraphRetainUserObject", NewerTreatment::harmless, kNothing},
    {"hipGraphReleaseUserObject", NewerTreatment::harmless, kNothing},
    {"hipLaunchHostFunc", NewerTreatment::harmless, kNothing},
    {"hipLaunchHostFunc_spt", NewerTreatment::harmless, kNothing},
    {"hipRegisterTracerCallback", NewerTreatment::harmless, kNothing},
    {"hipGraphDebugDotPrint", NewerTreatment::harmless, kNothing},
    {"hipGraphNodeGetEnabled", NewerTreatment::harmless, kNothing},
    {"hipGraphUpload", NewerTreatment::harmless, kNothing},
    {"hipGraphAddExternalSemaphoresSignalNode", NewerTreatment::harmless, kNothing},
    {"hipGraphAddExternalSemaphoresWaitNode", NewerTreatment::harmless, kNothing},
    {"hipGraphExternalSemaphoresSignalNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExternalSemaphoresSignalNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExternalSemaphoresWaitNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExternalSemaphoresWaitNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExecExternalSemaphoresSignalNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExecExternalSemaphoresWaitNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphMemAllocNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphAddMemFreeNode", NewerTreatment::unseen, kMemory},
    {"hipGraphMemFreeNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipArrayGetInfo", NewerTreatment::harmless, kNothing},
    {"hipArrayGetDescriptor", NewerTreatment::harmless, kNothing},
    {"hipArray3DGetDescriptor", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphAddMemcpyNode", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphAddMemsetNode", NewerTreatment::harmless, kNothing},
    {"hipChooseDeviceR0600", NewerTreatment::harmless, kNothing},
    {"hipGetDevicePropertiesR0600", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphMemcpyNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphMemcpyNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphExecMemcpyNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphExecMemsetNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipDrvGraphAddMemFreeNode", NewerTreatment::unseen, kMemory},
    {"hipSetValidDevices", NewerTreatment::harmless, kNothing},
    {"hipMemcpyAtoD", NewerTreatment::harmless, kWrites},
    {"hipMemcpyDtoA", NewerTreatment::harmless, kWrites},
    {"hipMemcpyAtoA", NewerTreatment::harmless, kWrites},
    {"hipMemcpyAtoHAsync", NewerTreatment::harmless, kWrites},
    {"hipMemcpyHtoAAsync", NewerTreatment::harmless, kWrites},
    {"hipMemcpy2DArrayToArray", NewerTreatment::harmless, kWrites},
    {"hipGraphExecGetFlags", NewerTreatment::harmless, kNothing},
    {"hipStreamBatchMemOp", NewerTreatment::harmless, kWrites},
    {"hipGraphAddBatchMemOpNode", NewerTreatment::harmless, kNothing},
    {"hipGraphBatchMemOpNodeGetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphBatchMemOpNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipGraphExecBatchMemOpNodeSetParams", NewerTreatment::harmless, kNothing},
    {"hipEventRecordWithFlags", NewerTreatment::harmless, kNothing},
    {"hipLinkAddData", NewerTreatment::harmless, kNothing},
    {"hipLinkAddFile", NewerTreatment::harmless, kNothing},
    {"hipLinkCreate", NewerTreatment::harmless, kNothing},
    {"hipLinkDestroy", NewerTreatment::harmless, kNothing},
    {"hipMemGetHandleForAddressRange", NewerTreatment::harmless, kNothing},
    {"hipOccupancyMaxPotentialClusterSize", NewerTreatment::harmless, kNothing},
    {"hipOccupancyMaxActiveClusters", NewerTreatment::harmless, kNothing},
    {"hipMemsetD2D8", NewerTreatment::harmless, kWrites},
    {"hipMemsetD2D8Async", NewerTreatment::harmless, kWrites},
    {"hipMemsetD2D16", NewerTreatment::harmless, kWrites},
    {"hipMemsetD2D16Async", NewerTreatment::harmless, kWrites},
    {"hipMemsetD2D32", NewerTreatment::harmless, kWrites},
    {"hipMemsetD2D32Async", NewerTreatment::harmless, kWrites},
    {"hipStreamGetAttribute", NewerTreatment::harmless, kNothing},
    {"hipStreamSetAttribute", NewerTreatment::harmless, kNothing},
    {"hipMemcpyBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipMemcpy3DBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipMemcpy3DPeer", NewerTreatment::harmless, kWrites},
    {"hipMemcpy3DPeerAsync", NewerTreatment::harmless, kWrites},
    {"hipMemPrefetchAsync_v2", NewerTreatment::harmless, kWrites},
    {"hipMemAdvise_v2", NewerTreatment::harmless, kWrites},
    {"hipStreamGetId", NewerTreatment::harmless, kNothing},
    {"hipModuleGetLoadingMode", NewerTreatment::harmless, kNothing},
    {"hipLibraryUnload", NewerTreatment::harmless, kNothing},
    {"hipLibraryGetKernelCount", NewerTreatment::harmless, kNothing},
    {"hipStreamCopyAttributes", NewerTreatment::harmless, kNothing},
    {"hipKernelGetLibrary", NewerTreatment::harmless, kNothing},
    {"hipKernelGetName", NewerTreatment::harmless, kNothing},
    {"hipOccupancyAvailableDynamicSMemPerBlock", NewerTreatment::harmless, kNothing},
    {"hipKernelGetParamInfo", NewerTreatment::harmless, kNothing},
    {"hipExtDisableLogging", NewerTreatment::harmless, kNothing},
    {"hipExtEnableLogging", NewerTreatment::harmless, kNothing},
    {"hipExtSetLoggingParams", NewerTreatment::harmless, kNothing},
    {"hipMemGetMemPool", NewerTreatment::harmless, kNothing},
    {"hipMipmappedArrayGetMemoryRequirements", NewerTreatment::harmless, kNothing},
    {"hipKernelGetAttribute", NewerTreatment::harmless, kNothing},
    {"hipKernelSetAttribute", NewerTreatment::harmless, kNothing},
    {"hipMemPrefetchBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipMemDiscardBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipDrvMemDiscardBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipMemDiscardAndPrefetchBatchAsync", NewerTreatment::harmless, kWrites},
    {"hipDrvMemDiscardAndPrefetchBatchAsync", NewerTreatment::harmless, kWrites},
};

// The same function of the program's own runtime, of the type of what is given; null where there is none.
template <typename Function>
Function real_of(const Table& table, std::string_view name, Function) {
  return table.ends_in_runtime() ? table.runtime<Function>(name) : nullptr;
}

// Of a call that neither a runtime nor the CPU device makes. `what` is said once.
hipError_t not_on_cpu_device(std::once_flag& said, std::string_view what) {
  std::call_once(said, [&] { log::warning("{} is not available on the CPU device: it returns hipErrorNotSupported", what); });
  return finish(hipErrorNotSupported);
}

// The functions that give other functions by their names give those of the program's table, so that what is called through them
// is seen.
enum class Streams { usual, per_thread };
constexpr int kFound = 0, kNotFound = 1;

// What the table has for the name; null where the runtime's own is to be called, which is `runtime`. Of a function that programs
// with per-thread default streams have a variant of, that variant.
mneme_function in_table(const Table& table, const std::string& symbol, Streams streams, mneme_function runtime) {
  auto slot = streams == Streams::per_thread ? find_call(symbol + "_spt") : std::nullopt;
  const bool is_variant = slot.has_value();
  if (!is_variant) slot = find_call(symbol);
  if (!slot) return nullptr;
  if (!table.ends_in_runtime()) return table.abi().slots[*slot];
  // The runtime may have a variant that the table has not.
  const bool is_another = streams == Streams::per_thread && !is_variant && runtime != table.real(*slot);
  return is_another || table.abi().slots[*slot] == table.real(*slot) ? nullptr : table.abi().slots[*slot];
}

// Where no runtime answers: `version` says which variants of functions the program was compiled for.
hipError_t answer_alone(const Table& table, const char* symbol, void** out, int version, Streams streams, int* status) {
  if (!symbol || !out) return hipErrorInvalidValue;
  mneme_function found = version >= 600 ? in_table(table, symbol + std::string("R0600"), streams, nullptr) : nullptr;
  if (!found) found = in_table(table, symbol, streams, nullptr);
  *out = reinterpret_cast<void*>(found);
  if (status) *status = found ? kFound : kNotFound;
  return found ? hipSuccess : hipErrorNotFound;
}
// What the runtime has answered becomes the table's.
hipError_t answer_after(const Table& table, hipError_t result, const char* symbol, void** out, Streams streams) {
  if (result != hipSuccess || !symbol || !out || !*out) return result;
  if (const mneme_function own = in_table(table, symbol, streams, reinterpret_cast<mneme_function>(*out)))
    *out = reinterpret_cast<void*>(own);
  return result;
}

// As the flags of both functions say.
Streams streams_of(uint64_t flags, Streams of_function) {
  constexpr uint64_t kLegacy = 1, kPerThread = 2;
  if (flags == kLegacy) return Streams::usual;
  return flags == kPerThread ? Streams::per_thread : of_function;
}

template <Streams kStreams>
hipError_t get_proc_address(Table& table, const char* symbol, void** out, int version, uint64_t flags, int* status) {
  constexpr auto kName = kStreams == Streams::usual ? "hipGetProcAddress" : "hipGetProcAddress_spt";
  const Streams streams = streams_of(flags, kStreams);
  using Function = hipError_t (*)(const char*, void**, int, uint64_t, int*);
  if (const auto real = real_of(table, kName, Function()))
    return finish(table, answer_after(table, real(symbol, out, version, flags, status), symbol, out, streams));
  return finish(answer_alone(table, symbol, out, version, streams, status));
}

template <Streams kStreams>
hipError_t get_entry_point(Table& table, const char* symbol, void** out, unsigned long long flags, int* status) {
  constexpr auto kName = kStreams == Streams::usual ? "hipGetDriverEntryPoint" : "hipGetDriverEntryPoint_spt";
  const Streams streams = streams_of(flags, kStreams);
  using Function = hipError_t (*)(const char*, void**, unsigned long long, int*);
  if (const auto real = real_of(table, kName, Function()))
    return finish(table, answer_after(table, real(symbol, out, flags, status), symbol, out, streams));
  return finish(answer_alone(table, symbol, out, HIP_VERSION_MAJOR * 100, streams, status));
}

// hipLaunchConfig_t and the attributes in it lie in memory as CUDA's, and the attributes have CUDA's numbers. A launch without
// any is one as any other.
hipError_t launch_with_config(Table& table, const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config && config->numAttrs == 0) {
    return MNEME_SLOT(table, hipLaunchKernel)(function, std::bit_cast<hip_dim3>(config->gridDim),
                                              std::bit_cast<hip_dim3>(config->blockDim), arguments, config->dynamicSmemBytes,
                                              std::bit_cast<hipStream_t>(config->stream));
  }
  const LastError last(table);
  const auto real = real_of(table, "hipLaunchKernelExC", LaunchWithConfig());
  if (!real && table.ends_in_runtime()) return last.finish(hipErrorNotSupported);
  if (const hipError_t result = set_managed_pointers(); result != hipSuccess) return last.finish(result);
  if (config) allow_shared_memory(table, function, config->dynamicSmemBytes);
  auto call = [&] { return real ? real(config, function, arguments) : hipErrorNotSupported; };
  const AsMade made(MNEME_CALL_cudaLaunchKernelExC, call);
  AsMade::name_subject(MNEME_CALL_cudaLaunchKernelExC, {function, arguments});
  return last.finish(made.result(MNEME_CUDA(table, cudaLaunchKernelExC)(config, function, arguments)));
}

// hipGraphNodeParams: the parameters of a node of any kind, of which those of kernels are looked at.
struct NodeParameters {
  int type;
  int reserved[3];
  hipKernelNodeParams kernel;
};
const hipKernelNodeParams* kernel_of(const NodeParameters* parameters) {
  constexpr int kKernel = 0;  // hipGraphNodeTypeKernel of the HIP that has these functions, which was 1 before
  return parameters && parameters->type == kKernel ? &parameters->kernel : nullptr;
}

// Functions of nodes of any kind: of a kernel they are those of kernels, so that it is counted, and deployed code runs in its
// place. Of others they are the runtime's.
template <typename... A>
hipError_t other_node(Table& table, const char* name, std::once_flag& said, A... arguments) {
  using Function = hipError_t (*)(A...);
  if (const auto real = real_of(table, name, Function())) return finish(table, real(arguments...));
  return not_on_cpu_device(said, std::string(name) + " of nodes that are no kernels");
}
hipError_t add_node(Table& table, hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                    NodeParameters* parameters) {
  if (const auto* kernel = kernel_of(parameters))
    return MNEME_SLOT(table, hipGraphAddKernelNode)(node, graph, before, count, kernel);
  static std::once_flag said;
  return other_node(table, "hipGraphAddNode", said, node, graph, before, count, parameters);
}
hipError_t set_node(Table& table, hipGraphNode_t node, NodeParameters* parameters) {
  if (const auto* kernel = kernel_of(parameters)) return MNEME_SLOT(table, hipGraphKernelNodeSetParams)(node, kernel);
  static std::once_flag said;
  return other_node(table, "hipGraphNodeSetParams", said, node, parameters);
}
hipError_t set_node_of_exec(Table& table, hipGraphExec_t graph, hipGraphNode_t node, NodeParameters* parameters) {
  if (const auto* kernel = kernel_of(parameters)) return MNEME_SLOT(table, hipGraphExecKernelNodeSetParams)(graph, node, kernel);
  static std::once_flag said;
  return other_node(table, "hipGraphExecNodeSetParams", said, graph, node, parameters);
}

// Its slot of CUDA's has no end, and makes the call that the program has made.
hipError_t begin_capture_to_graph(Table& table, hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* before,
                                  const void* edges, size_t count, hipStreamCaptureMode mode) {
  using Function = hipError_t (*)(hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, size_t, hipStreamCaptureMode);
  const auto through_slot = [&] {
    return MNEME_CUDA(table, cudaStreamBeginCaptureToGraph)(
        std::bit_cast<cudaStream_t>(stream), std::bit_cast<cudaGraph_t>(graph), reinterpret_cast<const cudaGraphNode_t*>(before),
        static_cast<const cudaGraphEdgeData*>(edges), count, static_cast<cudaStreamCaptureMode>(mode));
  };
  const LastError last(table);
  const auto real = real_of(table, "hipStreamBeginCaptureToGraph", Function());
  if (!real) return last.finish(table.ends_in_runtime() ? hipErrorNotSupported : to_hip(through_slot()));
  auto call = [&] { return real(stream, graph, before, edges, count, mode); };
  const AsMade made(MNEME_CALL_cudaStreamBeginCaptureToGraph, call);
  return last.finish(made.result(through_slot()));
}

// Variants for programs with per-thread default streams, whose rows would need a newer HIP's headers: the functions themselves,
// by the name that this stream has.
hipStream_t or_per_thread(hipStream_t stream) { return stream ? stream : hipStreamPerThread; }
hipError_t begin_capture_per_thread(Table& table, hipStream_t stream, hipStreamCaptureMode mode) {
  return MNEME_SLOT(table, hipStreamBeginCapture)(or_per_thread(stream), mode);
}
hipError_t end_capture_per_thread(Table& table, hipStream_t stream, hipGraph_t* graph) {
  return MNEME_SLOT(table, hipStreamEndCapture)(or_per_thread(stream), graph);
}
hipError_t launch_graph_per_thread(Table& table, hipGraphExec_t graph, hipStream_t stream) {
  return MNEME_SLOT(table, hipGraphLaunch)(graph, or_per_thread(stream));
}

struct OwnFunction {
  std::string_view name;
  mneme_function (*of)(uint32_t table);
};
// The slot's number is of no use for what is installed by its name.
template <auto kHandler>
mneme_function handler(uint32_t table) {
  return reinterpret_cast<mneme_function>(Hook<MNEME_HIP_CALL_COUNT, kHandler>::call_of(table));
}
constexpr OwnFunction kOwn[] = {
    {"hipGetProcAddress", &handler<&get_proc_address<Streams::usual>>},
    {"hipGetProcAddress_spt", &handler<&get_proc_address<Streams::per_thread>>},
    {"hipGetDriverEntryPoint", &handler<&get_entry_point<Streams::usual>>},
    {"hipGetDriverEntryPoint_spt", &handler<&get_entry_point<Streams::per_thread>>},
    {"hipExtGetLastError", &handler<&ext_get_last_error>},
    {"hipLaunchKernelExC", &handler<&launch_with_config>},
    {"hipGraphAddNode", &handler<&add_node>},
    {"hipGraphNodeSetParams", &handler<&set_node>},
    {"hipGraphExecNodeSetParams", &handler<&set_node_of_exec>},
    {"hipStreamBeginCaptureToGraph", &handler<&begin_capture_to_graph>},
    {"hipStreamBeginCapture_spt", &handler<&begin_capture_per_thread>},
    {"hipStreamEndCapture_spt", &handler<&end_capture_per_thread>},
    {"hipGraphLaunch_spt", &handler<&launch_graph_per_thread>},
};

}  // namespace

const NewerFunction* find_newer_function(std::string_view name) {
  const auto found = std::ranges::find(kNewer, name, &NewerFunction::name);
  return found == std::end(kNewer) ? nullptr : found;
}

mneme_function own_function(std::string_view name, uint32_t table) {
  const auto found = std::ranges::find(kOwn, name, &OwnFunction::name);
  return found == std::end(kOwn) ? nullptr : found->of(table);
}

std::string_view reason_for_refusal(std::string_view name) {
  if (const NewerFunction* known = find_newer_function(name))
    return known->treatment == NewerTreatment::refused ? known->reason : std::string_view();
  return name.starts_with("hipModule") || name.starts_with("hipDrvLaunch") ? kHandles : std::string_view();
}

}  // namespace mneme::hip
