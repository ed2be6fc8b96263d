// Operation: one piece of device work. A stream does it at once, and a node of a graph holds it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mneme/cpu/cuda_runtime/context.h"

namespace mneme::emulation {

struct Graph;
struct Event;

struct KernelLaunch {
  const void* function = nullptr;     // as the program names it
  std::shared_ptr<const void> image;  // keeps what the kernel belongs to
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  ByteVector parameters;                    // packed
  std::vector<uint64_t> parameter_offsets;  // of each argument in it
  std::vector<void*> arguments;             // pointers to each in `parameters`, for cudaGraphKernelNodeGetParams
};

struct Copy {
  cudaMemcpy3DParms parameters{};  // a copy of one dimension is one row
};

struct Fill {
  cudaMemsetParams parameters{};
  size_t depth = 1;  // how many slices a three-dimensional fill has
  size_t slice = 0;  // bytes from the beginning of a slice to that of the next
};

struct HostCall {
  std::function<void()> call;
  cudaHostNodeParams parameters{};  // of a graph's host node
};

struct EventRecord {
  Event* event = nullptr;
};
struct EventWait {
  Event* event = nullptr;
};
struct ChildGraph {
  std::shared_ptr<Graph> graph;
};
// Memory that nodes of graphs allocate. It is there from when the first node is made until all are gone; what is live then is
// the program's to free.
struct GraphMemory {
  void* pointer = nullptr;
  size_t size = 0;
  GraphMemory(void* pointer, size_t size) : pointer(pointer), size(size) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
};
struct Allocation {
  std::shared_ptr<GraphMemory> memory;
};
struct Release {
  void* pointer = nullptr;
};

using Operation =
    std::variant<std::monostate, KernelLaunch, Copy, Fill, HostCall, EventRecord, EventWait, ChildGraph, Allocation, Release>;

// Who does an operation: a stream, once; or a graph, each time that it is launched. Of the memory that its nodes release a graph
// keeps what is not a graph's.
enum class Repeat { once, by_graph };

// Does the operation, to its end.
cudaError_t run(const Operation& operation, Repeat repeat = Repeat::once);
cudaGraphNodeType type_of(const Operation& operation);

// Makes a launch: finds the kernel, checks the shape against the limits of device and function, and packs the arguments.
// `arguments` are pointers to the values, as for cudaLaunchKernel.
cudaError_t prepare_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, bool cooperative,
                           KernelLaunch& out);

// The kernel that the program has registered for a host function, loaded; or one of a library that it has loaded.
struct ResolvedKernel {
  std::shared_ptr<const void> image;
  Kernel* kernel = nullptr;
};
// Loads the kernel's fat binary if need be. Says on standard error why a registered kernel cannot be had, once.
// cudaErrorInvalidDeviceFunction: no kernel was registered for the function, and it is no library's.
cudaError_t resolve_kernel(const void* function, ResolvedKernel& out);
// Whether it is a kernel's, loaded or not.
bool names_kernel(const void* function);
// The kernel of a library by its handle; nothing where there is none. libraries.cc has them.
std::optional<ResolvedKernel> find_library_kernel(const void* handle);
// Forgets what resolve_kernel() has found. To be called when a fat binary is unregistered: another one may later be loaded at
// its addresses.
void forget_resolved_kernels();

// Copies of one and of two dimensions, in the three-dimensional form that graphs keep. Sizes are in bytes.
Copy linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
Copy pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  cudaMemcpyKind kind);
// Whether CUDA would refuse the operation, and with what.
cudaError_t check(const Copy& copy);
cudaError_t check(const Fill& fill);

// Memory for a node that allocates. cudaErrorMemoryAllocation: there is not enough.
cudaError_t make_graph_memory(size_t size, Allocation& out);

// The device address of a host variable at an offset, with room for `bytes`.
cudaError_t symbol_address(const void* symbol, size_t offset, size_t bytes, void** address);

}  // namespace mneme::emulation
