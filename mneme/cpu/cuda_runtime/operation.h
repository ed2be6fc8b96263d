// One piece of device work: what a stream does at once, and what a node of a graph holds.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mneme/cpu/cuda_runtime/context.h"

namespace mneme::emulation {

struct Graph;
struct Event;

struct KernelLaunch {
  const void* function = nullptr;  // as the program names it
  std::shared_ptr<LoadedImage> image;
  const Kernel* kernel = nullptr;  // of `image`
  LaunchShape shape;
  ByteVector parameters;                    // packed
  std::vector<uint64_t> parameter_offsets;  // of each argument in it
  std::vector<void*> arguments;             // for cudaGraphKernelNodeGetParams: where each lies in `parameters`
};

struct Copy {
  cudaMemcpy3DParms parameters{};  // a copy of one dimension is one row
};

struct Fill {
  cudaMemsetParams parameters{};
  size_t depth = 1;  // of a three-dimensional fill, slices of
  size_t slice = 0;  // `slice` bytes
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
struct Allocation {
  void* pointer = nullptr;
  size_t size = 0;
};
struct Release {
  void* pointer = nullptr;
};

using Operation =
    std::variant<std::monostate, KernelLaunch, Copy, Fill, HostCall, EventRecord, EventWait, ChildGraph, Allocation, Release>;

// How an operation is being done: the first time, or again by a graph that owns what it has captured.
enum class Repeat { once, by_graph };

cudaError_t run(const Operation& operation, Repeat repeat = Repeat::once);
cudaGraphNodeType type_of(const Operation& operation);

// A launch checked against the device's limits, with its arguments packed. `arguments` are pointers to values, as for
// cudaLaunchKernel; `extra`, when not null, is CU_LAUNCH_PARAM style and refused.
cudaError_t prepare_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, bool cooperative,
                           KernelLaunch& out);

// What the program registered for a function, loaded; the failure has been said on standard error.
struct ResolvedKernel {
  std::shared_ptr<LoadedImage> image;
  const EmbeddedSegment* segment = nullptr;
  Kernel* kernel = nullptr;
};
cudaError_t resolve_kernel(const void* function, ResolvedKernel& out);
// For when a fat binary is unregistered: another may later be loaded at its addresses.
void forget_resolved_kernels();

// Copies of one and two dimensions, as the three-dimensional one that graphs keep.
Copy linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
Copy pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  cudaMemcpyKind kind);
// cudaErrorInvalidValue or …InvalidMemcpyDirection for a copy that CUDA refuses, cudaErrorNotSupported for one with arrays.
cudaError_t check(const Copy& copy);
cudaError_t check(const Fill& fill);

// The device address of a host variable at an offset, with room for `bytes`.
cudaError_t symbol_address(const void* symbol, size_t offset, size_t bytes, void** address);

}  // namespace mneme::emulation
