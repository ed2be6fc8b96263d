#include "mneme/cpu/cuda_runtime/operation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mneme/cpu/cuda_runtime/arrays.h"
#include "mneme/cpu/cuda_runtime/event.h"
#include "mneme/cpu/cuda_runtime/graph.h"

namespace mneme::emulation {
namespace {

// One side of a copy: where it begins, and how far its rows and slices are apart.
struct Side {
  std::byte* begin = nullptr;
  size_t row_pitch = 0, slice_pitch = 0;

  std::byte* row(size_t y, size_t z) const { return begin + y * row_pitch + z * slice_pitch; }
};

Side side_of(const cudaPitchedPtr& pointer, const cudaPos& position) {
  const size_t slice = pointer.pitch * pointer.ysize;
  return {static_cast<std::byte*>(pointer.ptr) + position.x + position.y * pointer.pitch + position.z * slice, pointer.pitch,
          slice};
}
Side side_of(const Array& array, const cudaPos& position) {
  const cpu::TexelGrid& grid = array.grid;
  return {grid.texels + position.x * array.channels.format.bytes() + position.y * grid.row_pitch + position.z * grid.slice_pitch,
          grid.row_pitch, grid.slice_pitch};
}

// cudaErrorInvalidResourceHandle: an array was freed since the copy was captured.
cudaError_t copy_rows(const cudaMemcpy3DParms& copy) {
  const auto to_array = find_array(copy.dstArray), from_array = find_array(copy.srcArray);
  if ((copy.dstArray && !to_array) || (copy.srcArray && !from_array)) return cudaErrorInvalidResourceHandle;
  const Side to = to_array ? side_of(*to_array, copy.dstPos) : side_of(copy.dstPtr, copy.dstPos);
  const Side from = from_array ? side_of(*from_array, copy.srcPos) : side_of(copy.srcPtr, copy.srcPos);
  const auto& array = to_array ? to_array : from_array;
  const size_t row_bytes = copy.extent.width * (array ? array->channels.format.bytes() : 1);
  for (size_t z = 0; z < copy.extent.depth; ++z)
    for (size_t y = 0; y < copy.extent.height; ++y) std::memmove(to.row(y, z), from.row(y, z), row_bytes);
  return cudaSuccess;
}

void fill_row(std::byte* row, unsigned value, size_t element_bytes, size_t elements) {
  if (element_bytes == 1) {
    std::memset(row, static_cast<int>(value), elements);
    return;
  }
  for (size_t i = 0; i < elements; ++i) std::memcpy(row + i * element_bytes, &value, element_bytes);
}

void fill_rows(const Fill& fill) {
  const cudaMemsetParams& parameters = fill.parameters;
  for (size_t z = 0; z < fill.depth; ++z)
    for (size_t y = 0; y < parameters.height; ++y)
      fill_row(static_cast<std::byte*>(parameters.dst) + z * fill.slice + y * parameters.pitch, parameters.value,
               parameters.elementSize, parameters.width);
}

struct Runner {
  Repeat repeat;
  cudaError_t operator()(const std::monostate&) const { return cudaSuccess; }
  cudaError_t operator()(const KernelLaunch& launch) const {
    return to_cuda(Context::get().launch(*launch.kernel, launch.shape, launch.parameters));
  }
  cudaError_t operator()(const Copy& copy) const { return copy_rows(copy.parameters); }
  cudaError_t operator()(const Fill& fill) const { return fill_rows(fill), cudaSuccess; }
  cudaError_t operator()(const HostCall& host) const { return host.call(), cudaSuccess; }
  cudaError_t operator()(const EventRecord& record) const { return record.event->record(), cudaSuccess; }
  cudaError_t operator()(const EventWait&) const { return cudaSuccess; }
  cudaError_t operator()(const ChildGraph& child) const { return run_graph(*child.graph); }
  cudaError_t operator()(const Allocation& allocation) const {
    Context::get().memory().begin_graph_use(allocation.memory->pointer);
    return cudaSuccess;
  }
  cudaError_t operator()(const Release& release) const {
    MemoryTable& memory = Context::get().memory();
    const auto use = memory.find(release.pointer);
    if (repeat == Repeat::by_graph && (!use || use->graph == GraphUse::none)) return cudaSuccess;
    const bool is_ordered = use && (use->pool || use->kind == MemoryKind::device);
    const bool freed = is_ordered && memory.free(release.pointer, {MemoryKind::device, MemoryKind::managed, MemoryKind::host});
    return freed ? cudaSuccess : cudaErrorInvalidValue;
  }
};

}  // namespace

GraphMemory::~GraphMemory() { Context::get().memory().end_graph_memory(pointer); }

cudaError_t run(const Operation& operation, Repeat repeat) { return std::visit(Runner{repeat}, operation); }

cudaGraphNodeType type_of(const Operation& operation) {
  constexpr cudaGraphNodeType types[] = {cudaGraphNodeTypeEmpty,     cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                         cudaGraphNodeTypeMemset,    cudaGraphNodeTypeHost,   cudaGraphNodeTypeEventRecord,
                                         cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeGraph,  cudaGraphNodeTypeMemAlloc,
                                         cudaGraphNodeTypeMemFree};
  static_assert(std::size(types) == std::variant_size_v<Operation>);
  return types[operation.index()];
}

Copy linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return pitched_copy(to, bytes, from, bytes, bytes, 1, kind);
}

Copy pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  cudaMemcpyKind kind) {
  Copy copy;
  copy.parameters.srcPtr = {const_cast<void*>(from), from_pitch, width, height};
  copy.parameters.dstPtr = {to, to_pitch, width, height};
  copy.parameters.extent = {width, height, 1};
  copy.parameters.kind = kind;
  return copy;
}

namespace {

bool holds(const cpu::TexelGrid& grid, const cudaPos& position, const cudaExtent& extent) {
  const auto fits = [](size_t from, size_t count, size_t size) { return from <= size && count <= size - from; };
  return fits(position.x, extent.width, grid.width) && fits(position.y, extent.height, grid.height) &&
         fits(position.z, extent.depth, grid.slices);
}

}  // namespace

cudaError_t check(const Copy& copy) {
  const cudaMemcpy3DParms& parameters = copy.parameters;
  if (parameters.kind < cudaMemcpyHostToHost || parameters.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const cudaExtent& extent = parameters.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  size_t texel = 0;  // bytes of what the width counts, by an array
  for (const auto& [handle, position] :
       {std::pair(parameters.srcArray, parameters.srcPos), {parameters.dstArray, parameters.dstPos}}) {
    if (!handle) continue;
    const auto array = find_array(handle);
    if (!array) return cudaErrorInvalidResourceHandle;
    if (!holds(array->grid, position, extent)) return cudaErrorInvalidValue;
    if (texel != 0 && texel != array->channels.format.bytes()) return cudaErrorInvalidValue;
    texel = array->channels.format.bytes();
  }
  const size_t row_bytes = extent.width * std::max<size_t>(texel, 1);
  const bool rows = extent.height > 1 || extent.depth > 1;
  for (const auto& [array, pointer] :
       {std::pair(parameters.srcArray, parameters.srcPtr), {parameters.dstArray, parameters.dstPtr}}) {
    if (array) continue;
    if (!pointer.ptr) return cudaErrorInvalidValue;
    if (rows && pointer.pitch < row_bytes) return cudaErrorInvalidPitchValue;
  }
  return cudaSuccess;
}

cudaError_t check(const Fill& fill) {
  const cudaMemsetParams& parameters = fill.parameters;
  size_t element = parameters.elementSize;
  if (element != 1 && element != 2 && element != 4) return cudaErrorInvalidValue;
  if (parameters.width == 0 || parameters.height == 0 || fill.depth == 0) return cudaSuccess;
  if (!parameters.dst) return cudaErrorInvalidValue;
  if (parameters.height > 1 && parameters.pitch < parameters.width * element) return cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace mneme::emulation
