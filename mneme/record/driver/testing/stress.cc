// Many threads use the driver through the recorder at once: allocations, launches, copies, captures of streams, graphs. Built
// with ThreadSanitizer, which ends the program with status 66 where it has found something.
//
// stress IMAGE DATABASE: the driver is libcuda.so.1.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mneme/record/driver/driver_front.h"

namespace {

constexpr int kThreads = 8, kStreams = 16, kSteps = 150;

mneme_driver_function real[MNEME_DRIVER_CALL_COUNT], slots[MNEME_DRIVER_CALL_COUNT];
void* library = nullptr;

// What a program calls: the slot where the recorder stands before the function, else the function.
template <typename F>
F* function(const char* name) {
  static const char* const kNames[] = {
#define MNEME_NAME(name) #name,
      MNEME_DRIVER_CALLS(MNEME_NAME)};
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i)
    if (std::string_view(kNames[i]) == name) return reinterpret_cast<F*>(slots[i]);
  return reinterpret_cast<F*>(::dlsym(library, name));
}
template <typename F, typename... A>
void call(const char* name, A... arguments) {
  const CUresult code = function<F>(name)(arguments...);
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s returned %d\n", name, static_cast<int>(code));
  std::_Exit(1);
}

struct Program {
  CUcontext context = nullptr;
  std::string image;
  std::vector<CUstream> streams;
};

void launch(CUfunction kernel, CUdeviceptr memory, CUstream stream) {
  unsigned count = 16;
  void* arguments[] = {&memory, &count};
  call<decltype(::cuLaunchKernel)>("cuLaunchKernel", kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, arguments,
                                   static_cast<void**>(nullptr));
}

struct Memory {
  CUdeviceptr address = 0;
  bool in_stream = false;  // allocated
};
void free(const Memory& memory, CUstream stream) {
  if (memory.in_stream)
    call<decltype(::cuMemFreeAsync)>("cuMemFreeAsync", memory.address, stream);
  else
    call<CUresult(CUdeviceptr)>("cuMemFree_v2", memory.address);
}

void run(const Program& program, unsigned seed) {
  std::minstd_rand random(seed);
  const auto pick = [&](size_t below) { return static_cast<size_t>(random()) % below; };
  call<CUresult(CUcontext)>("cuCtxPushCurrent_v2", program.context);
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  call<decltype(::cuModuleLoadData)>("cuModuleLoadData", &module, program.image.data());
  call<decltype(::cuModuleGetFunction)>("cuModuleGetFunction", &kernel, module, "add_one");
  std::vector<Memory> memory;
  for (int step = 0; step < kSteps; ++step) {
    CUstream stream = program.streams[pick(program.streams.size())];
    CUdeviceptr one = 0;
    unsigned words[16] = {};
    switch (pick(8)) {
      case 0:
        call<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2", &one, 64 + pick(1 << 16));
        memory.push_back({one, false});
        break;
      case 1:
        call<decltype(::cuMemAllocAsync)>("cuMemAllocAsync", &one, 64 + pick(1 << 16), stream);
        memory.push_back({one, true});
        break;
      case 2:
      case 3:
        if (memory.empty()) break;
        std::swap(memory[pick(memory.size())], memory.back());
        free(memory.back(), stream);
        memory.pop_back();
        break;
      case 4:
        if (memory.empty()) break;
        call<CUresult(CUdeviceptr, const void*, size_t)>("cuMemcpyHtoD_v2", memory[pick(memory.size())].address, words,
                                                         sizeof words);
        break;
      case 5: {
        if (pick(8) != 0) break;
        CUgraph graph = nullptr;
        stream = program.streams[seed];  // that no other thread captures
        call<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2", stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        if (!memory.empty()) launch(kernel, memory[pick(memory.size())].address, stream);
        call<decltype(::cuStreamEndCapture)>("cuStreamEndCapture", stream, &graph);
        break;
      }
      default:
        if (!memory.empty()) launch(kernel, memory[pick(memory.size())].address, stream);
    }
  }
  for (const Memory& left : memory) free(left, program.streams[0]);
  call<decltype(::cuModuleUnload)>("cuModuleUnload", module);
}

// More launches than are recorded: later ones are counted without being looked at, until what is known of the kernel goes with a
// module.
void launch_often(const Program& program) {
  CUdeviceptr memory = 0;
  call<CUresult(CUcontext)>("cuCtxPushCurrent_v2", program.context);
  call<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2", &memory, size_t{64});
  for (int round = 0; round < 4; ++round) {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    call<decltype(::cuModuleLoadData)>("cuModuleLoadData", &module, program.image.data());
    call<decltype(::cuModuleGetFunction)>("cuModuleGetFunction", &kernel, module, "add_one");
    for (int i = 0; i < 20; ++i) launch(kernel, memory, nullptr);
    call<decltype(::cuModuleUnload)>("cuModuleUnload", module);
  }
  call<CUresult(CUdeviceptr)>("cuMemFree_v2", memory);
}

// A graph with a condition, whose child graph one thread changes while another one destroys nodes of other graphs.
CUgraph make_child(CUfunction kernel, CUdeviceptr* memory) {
  static unsigned count = 0;
  void* arguments[] = {memory, &count};
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS parameters{kernel, 1, 1, 1, 32, 1, 1, 0, arguments, nullptr, nullptr, nullptr};
  call<decltype(::cuGraphCreate)>("cuGraphCreate", &graph, 0u);
  call<decltype(::cuGraphAddKernelNode)>("cuGraphAddKernelNode_v2", &node, graph, nullptr, size_t{0}, &parameters);
  return graph;
}
void change_graphs(const Program& program) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr memory = 0;
  call<decltype(::cuModuleLoadData)>("cuModuleLoadData", &module, program.image.data());
  call<decltype(::cuModuleGetFunction)>("cuModuleGetFunction", &kernel, module, "add_one");
  call<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2", &memory, size_t{64});
  CUgraph graph = nullptr;
  CUgraphNode child = nullptr, condition = nullptr;
  CUgraphExec executable = nullptr;
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.size = 1;
  call<decltype(::cuGraphCreate)>("cuGraphCreate", &graph, 0u);
  call<decltype(::cuGraphConditionalHandleCreate)>("cuGraphConditionalHandleCreate", &parameters.conditional.handle, graph,
                                                   nullptr, 1u, unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT});
  call<decltype(::cuGraphAddNode)>("cuGraphAddNode_v2", &condition, graph, nullptr, nullptr, size_t{0}, &parameters);
  call<decltype(::cuGraphAddChildGraphNode)>("cuGraphAddChildGraphNode", &child, graph, nullptr, size_t{0},
                                             make_child(kernel, &memory));
  call<decltype(::cuGraphInstantiate)>("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  std::thread destroying([&] {
    for (int i = 0; i < kSteps; ++i) {
      CUgraph other = make_child(kernel, &memory);
      CUgraphNode node = nullptr;
      size_t count = 1;
      call<decltype(::cuGraphGetNodes)>("cuGraphGetNodes", other, &node, &count);
      call<decltype(::cuGraphDestroyNode)>("cuGraphDestroyNode", node);
      call<decltype(::cuGraphDestroy)>("cuGraphDestroy", other);
    }
  });
  for (int i = 0; i < kSteps; ++i)
    call<decltype(::cuGraphExecChildGraphNodeSetParams)>("cuGraphExecChildGraphNodeSetParams", executable, child,
                                                         make_child(kernel, &memory));
  destroying.join();
  call<decltype(::cuGraphExecDestroy)>("cuGraphExecDestroy", executable);
  call<CUresult(CUdeviceptr)>("cuMemFree_v2", memory);
}

// Each launch is told as what became of it, and some went beyond the maximum.
bool is_accounted_for(const mneme::RecordingReport& report) {
  uint64_t told = report.instances + report.duplicates;
  for (const auto& reason : report.not_recorded) told += reason.launches;
  const uint64_t beyond = report.not_recorded[static_cast<size_t>(mneme::NotRecorded::beyond_max)].launches;
  if (told != report.launches || beyond == 0)
    std::fprintf(stderr, "of %zu launches %zu are told, %zu of them as beyond the maximum\n", size_t{report.launches},
                 size_t{told}, size_t{beyond});
  return told == report.launches && beyond != 0;
}

}  // namespace

int main(int, char** arguments) {
  library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
  size_t i = 0;
#define MNEME_FIND(name) slots[i] = real[i] = reinterpret_cast<mneme_driver_function>(::dlsym(library, #name)), ++i;
  MNEME_DRIVER_CALLS(MNEME_FIND)
  mneme::RecordingOptions options;
  options.database = arguments[2];
  options.address_space = mneme::Bytes(uint64_t{1} << 30);
  options.max = 200;
  mneme::Recorder::Environment environment;
  environment.first_space = mneme::DevicePtr(0x7e9000000000);
  const auto report = mneme::RecordingReportMapping::create();
  if (!report.ok()) return std::fprintf(stderr, "%s\n", report.status().message().c_str()), 1;
  environment.report = &**report;
  mneme::set_recorder(new mneme::Recorder(options, environment));
  mneme_driver_table table{MNEME_DRIVER_TABLE_VERSION, MNEME_DRIVER_CALL_COUNT, slots, real, library};
  if (mneme::Status status = mneme::driver::attach_driver(table); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;

  Program program;
  std::ifstream file(arguments[1], std::ios::binary);
  program.image.assign(std::istreambuf_iterator<char>(file), {});
  call<decltype(::cuInit)>("cuInit", 0u);
  call<decltype(::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", &program.context, 0);
  call<CUresult(CUcontext)>("cuCtxPushCurrent_v2", program.context);
  program.streams.resize(kStreams);
  for (CUstream& stream : program.streams) call<decltype(::cuStreamCreate)>("cuStreamCreate", &stream, 0u);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(run, std::cref(program), t + 1);
  for (std::thread& thread : threads) thread.join();
  for (std::thread& thread : threads) thread = std::thread(launch_often, std::cref(program));
  for (std::thread& thread : threads) thread.join();
  change_graphs(program);
  mneme::recorder()->finish();
  if (!mneme::recorder()->is_recording()) return std::fprintf(stderr, "recording has ended\n"), 1;
  if (!is_accounted_for(**report)) return 1;
  std::printf("done\n");
  return 0;
}
