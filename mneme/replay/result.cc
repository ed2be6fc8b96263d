#include "mneme/replay/result.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "mneme/base/shown.h"
#include "mneme/snapshot/pageable_pointers.h"
#include "mneme/verify/difference.h"

namespace mneme {

void ReplayResult::put(const CompiledCode& code) {
  obj_size = Bytes(code.image.bytes.size());
  obj_hash = code.digest;
  assembler = code.assembler;
  reg_usage = code.facts.registers;
  instructions = code.facts.instructions;
  stack_frame = code.facts.stack_frame;
  spill_store_bytes = code.facts.spill_stores;
  spill_load_bytes = code.facts.spill_loads;
  sgpr_usage = code.facts.scalar_registers;
  agpr_usage = code.facts.accumulation_registers;
  vgpr_spills = code.facts.spilled_registers;
  sgpr_spills = code.facts.spilled_scalar_registers;
  waves_per_eu = code.facts.waves_per_eu;
  warnings = code.warnings;
  cache = code.cache;
  times.insert(times.end(), code.times.begin(), code.times.end());
}

void ReplayResult::put(const KernelResources& resources) {
  if (resources.registers) reg_usage = resources.registers;  // else as the assembler says
  local_mem_usage = resources.local_memory;
  const_mem_usage = resources.constant_memory;
  shared_mem_usage = resources.static_shared_memory;
}

std::vector<FewerThreads> fewer_threads(const LaunchShape& shape, const LaunchShape& recorded) {
  std::vector<FewerThreads> fewer;
  const auto see = [&](char axis, uint32_t Dim3::* extent) {
    const auto threads = [&](const LaunchShape& of) { return uint64_t{of.grid.*extent} * (of.block.*extent); };
    if (threads(shape) < threads(recorded)) fewer.push_back({axis, threads(shape), threads(recorded)});
  };
  see('x', &Dim3::x);
  see('y', &Dim3::y);
  see('z', &Dim3::z);
  return fewer;
}

Nanoseconds compile_time(const ReplayResult& result) {
  Nanoseconds total{};
  for (const StageTime& stage : result.times)
    if (std::find(kCompileStages.begin(), kCompileStages.end(), stage.stage) != kCompileStages.end()) total += stage.time;
  return total;
}

std::string describe_wrong(const ReplayResult& result) {
  std::string text, threads;
  uint64_t explained = 0;  // mismatches are of regions, and a region may hold more than one buffer
  bool all_explained = true;
  for (const NotWritten& n : result.not_written.value_or(std::vector<NotWritten>())) {
    all_explained = all_explained && n.wrong == 0;
    if (n.not_written == 0) continue;
    ++explained;
    text +=
        fmt::format("{}{}", text.empty() ? "" : "; ", describe_not_written(shown(n.where), n.type, n.elements, n.not_written));
  }
  for (const FewerThreads& f : result.fewer_threads)
    threads += fmt::format("{}{} of {} threads in {}", threads.empty() ? "" : ", ", f.threads, f.recorded, f.axis);
  if (text.empty() || !all_explained || explained < result.mismatches.size())
    text += fmt::format("{}{}", text.empty() ? "" : "; ", describe(result.mismatches));
  if (!threads.empty()) text += fmt::format(" ({}: --keep-threads keeps them)", threads);
  if (!result.order_dependences.empty())
    text +=
        fmt::format("; the kernel {}: mneme check tells whether it is deterministic", fmt::join(result.order_dependences, ", "));
  if (!result.pageable_pointers.empty())
    text += fmt::format("; {}, which may be why", describe_pageable_pointers(result.pageable_pointers));
  return text;
}

}  // namespace mneme
