// For tests: changes each member of the compiler's options and results alone, one after another; see
// base/testing/each_member.h.
#pragma once

#include "mneme/base/testing/each_member.h"
#include "mneme/compile/compiler.h"

namespace mneme::testing_members {

inline void change_each(CodegenOptions& value, const SeeMember& see) {
  auto& [level, target, features, fast_math, ftz, contraction, code_object] = value;
  change(level, 1u, "level", see);
  change(target, "sm_90a", "target", see);
  change(features, "+ptx83", "features", see);
  change(fast_math, {"nnan"}, "fast_math", see);
  change(fast_math, {"nnan", "ninf"}, "fast_math with another", see);
  change(ftz, FlushDenormals::on, "ftz", see);
  change(contraction, Contraction::off, "contraction", see);
  change(code_object, 6u, "code_object", see);
}

inline void change_each(AssemblerOptions& value, const SeeMember& see) {
  auto& [level, options, max_registers, load_cache, store_cache] = value;
  change(level, 0u, "level", see);
  change(options, {"-v"}, "options", see);
  change(max_registers, 16u, "max_registers", see);
  change(max_registers, 32u, "other max_registers", see);
  change(load_cache, LoadCache::cg, "load_cache", see);
  change(store_cache, StoreCache::cg, "store_cache", see);
}

inline void change_each(LaunchBounds& value, const SeeMember& see) {
  auto& [max_threads, min_blocks, max_cluster, max_registers, waves_per_eu] = value;
  change(max_threads, 256u, "max_threads", see);
  change(min_blocks, 2u, "min_blocks", see);
  change(max_cluster, 2u, "max_cluster", see);
  change(max_registers, 64u, "max_registers", see);
  change(waves_per_eu, 4u, "waves_per_eu", see);
}

inline void change_each(std::optional<LaunchDimensions>& value, const std::string& name, const SeeMember& see) {
  change(value, LaunchDimensions(), name, see);
  const std::optional<LaunchDimensions> before = std::exchange(value, LaunchDimensions());
  auto& [grid, block] = *value;
  for (Dim3* extent : {&grid, &block}) {
    auto& [x, y, z] = *extent;
    for (uint32_t* direction : {&x, &y, &z}) change(*direction, 7u, name + (extent == &grid ? ".grid" : ".block"), see);
  }
  value = before;
}

inline void change_each(Specialisation& value, const SeeMember& see) {
  auto& [kernel, arguments, pointers, dimensions, ranges, bounds] = value;
  change(kernel, "k", "kernel", see);
  change(arguments, {ArgumentValue{0, ByteVector(4)}}, "arguments", see);
  change(arguments, {ArgumentValue{1, ByteVector(4)}}, "arguments[].parameter", see);
  change(arguments, {ArgumentValue{0, ByteVector(4, std::byte{1})}}, "arguments[].bytes", see);
  change(pointers, {PointerFacts{0, 16, false}}, "pointers", see);
  change(pointers, {PointerFacts{1, 16, false}}, "pointers[].parameter", see);
  change(pointers, {PointerFacts{0, 32, false}}, "pointers[].alignment", see);
  change(pointers, {PointerFacts{0, 16, true}}, "pointers[].no_alias", see);
  change_each(dimensions, "dimensions", see);
  change_each(ranges, "ranges", see);
  change_each(bounds, see);
}

inline void change_each(AccessTracking& value, const SeeMember& see) {
  auto& [ranges, plane, note] = value;
  change(ranges, {TrackedRange{DevicePtr(4096), Bytes(8), Bytes(0)}}, "tracking.ranges", see);
  change(ranges, {TrackedRange{DevicePtr(8192), Bytes(8), Bytes(0)}}, "tracking.ranges[].base", see);
  change(ranges, {TrackedRange{DevicePtr(4096), Bytes(16), Bytes(0)}}, "tracking.ranges[].size", see);
  change(ranges, {TrackedRange{DevicePtr(4096), Bytes(8), Bytes(8)}}, "tracking.ranges[].offset", see);
  change(plane, Bytes(512), "tracking.plane", see);
  change(note, NoteOf::block, "tracking.note", see);
}

inline void change_each(CompileOptions& value, const SeeMember& see) {
  auto& [passes, as_built, linkage, pass_plugins, codegen, assembler, bindings, kernels, specialisation, variable_table,
         tracking] = value;
  change(passes, "default<O1>", "passes", see);
  change(as_built, "default<O2>", "as_built", see);
  change(linkage, Linkage::internal, "linkage", see);
  change(pass_plugins, {"/nonexistent/plugin.so"}, "pass_plugins", see);
  change_each(codegen, [&](const std::string& name) { see("codegen." + name); });
  change_each(assembler, [&](const std::string& name) { see("assembler." + name); });
  change(bindings, {GlobalBinding{"g", DevicePtr(4096)}}, "bindings", see);
  change(bindings, {GlobalBinding{"h", DevicePtr(4096)}}, "bindings[].name", see);
  change(bindings, {GlobalBinding{"g", DevicePtr(8192)}}, "bindings[].address", see);
  change(kernels, {"k"}, "kernels", see);
  change_each(specialisation, [&](const std::string& name) { see("specialisation." + name); });
  change(variable_table, {"counter"}, "variable_table", see);
  change_each(tracking, see);
}

// All but the times, which are of no code.
inline void change_each(Translation& value, const SeeMember& see) {
  auto& [code, architecture, assembler, kernels, times, state, machine_code] = value;
  change(code, "other", "code", see);
  change(architecture, "sm_80", "architecture", see);
  change_each(assembler, see);
  change(kernels, {"k"}, "kernels", see);
  change(state, {"k"}, "state", see);
  change(machine_code, ByteVector(3), "machine_code", see);
}

inline void change_each(CodeFacts& value, const SeeMember& see) {
  auto& [instructions, registers, stack_frame, spill_stores, spill_loads, shared, scalar_registers, accumulation_registers,
         spilled_registers, spilled_scalar_registers, waves] = value;
  change(instructions, 7u, "instructions", see);
  change(registers, 7u, "registers", see);
  change(stack_frame, Bytes(7), "stack_frame", see);
  change(spill_stores, Bytes(7), "spill_stores", see);
  change(spill_loads, Bytes(7), "spill_loads", see);
  change(shared, Bytes(7), "static_shared_memory", see);
  change(scalar_registers, 7u, "scalar_registers", see);
  change(accumulation_registers, 7u, "accumulation_registers", see);
  change(spilled_registers, 7u, "spilled_registers", see);
  change(spilled_scalar_registers, 7u, "spilled_scalar_registers", see);
  change(waves, 7u, "waves_per_eu", see);
}

// All but the times and how the cache was used.
inline void change_each(CompiledCode& value, const SeeMember& see) {
  auto& [image, digest, translation_digest, facts, warnings, cache, times, state, assembler] = value;
  auto& [device, bytes, jit] = image;
  auto& [level, max_registers, load_cache] = jit;
  change(device, DeviceKind::cuda, "image.device", see);
  change(bytes, ByteVector(9, std::byte{9}), "image.bytes",
         [&](const std::string& name) { change(digest, digest_of(bytes), name, see); });
  change(level, 0u, "image.jit.level", see);
  change(max_registers, 32u, "image.jit.max_registers", see);
  change(load_cache, JitOptions::LoadCache::cg, "image.jit.load_cache", see);
  change(translation_digest, digest_of(ByteVector(1)), "translation_digest", see);
  change_each(facts, see);
  change(warnings, {"w"}, "warnings", see);
  change(state, {"w"}, "state", see);
  change(assembler, "driver", "assembler", see);
}

}  // namespace mneme::testing_members
