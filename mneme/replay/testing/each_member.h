// Each member of a configuration changed alone; see base/testing/each_member.h.
#pragma once

#include "mneme/compile/testing/each_member.h"
#include "mneme/replay/configuration.h"

namespace mneme::testing_members {

inline void change_each(ExtentOverride& value, const SeeMember& see) {
  auto& [x, y, z] = value;
  change(x, 3u, "x", see);
  change(y, 3u, "y", see);
  change(z, 3u, "z", see);
}

inline void change_each(SpecialiseOptions& value, const SeeMember& see) {
  auto& [arguments, dimensions, ranges, alignment, no_alias, bounds] = value;
  change(arguments, {"n"}, "arguments", see);
  change(dimensions, true, "dimensions", see);
  change(ranges, true, "ranges", see);
  change(alignment, true, "alignment", see);
  change(no_alias, true, "no_alias", see);
  change_each(bounds, see);
}

inline void change_each(Execution& value, const SeeMember& see) {
  auto& [iterations, warm_up, stop, min_iterations, max_iterations, relative_error, max_time, l2, shared_device] = value;
  change(iterations, 3u, "iterations", see);
  change(warm_up, 3u, "warm_up", see);
  change(stop, StopWhen::time, "stop", see);
  change(min_iterations, 3u, "min_iterations", see);
  change(max_iterations, 30u, "max_iterations", see);
  change(relative_error, 0.25, "relative_error", see);
  change(max_time, 0.25, "max_time", see);
  change(l2, CacheState::warm, "l2", see);
  change(shared_device, true, "shared_device", see);
}

inline void change_each(Tolerance& value, const SeeMember& see) {
  auto& [type, threshold, error, norm, nan] = value;
  change(type, ElementType::f64, "type", see);
  change(threshold, 0.25, "threshold", see);
  change(error, ErrorKind::relative, "error", see);
  change(norm, Norm::l2, "norm", see);
  change(nan, NanPolicy::any, "nan", see);
}

inline void change_each(Verdict& value, const SeeMember& see) {
  auto& [mask] = value;
  change(mask, false, "mask", see);
}

// The members' names are those in JSON, with a point between a section and its member.
inline void change_each(Configuration& value, const SeeMember& see) {
  auto& [passes, linkage, pass_plugins, grid, block, keep_threads, shared_memory, ir, specialise, codegen, assembler, execution,
         tolerance, verdict] = value;
  const auto in = [&](const char* section) {
    return [&see, section](const std::string& name) { see(std::string(section) + "." + name); };
  };
  change(passes, "default<O1>", "passes", see);
  change(linkage, Linkage::internal, "linkage", see);
  change(pass_plugins, {"/nonexistent/plugin.so"}, "pass_plugins", see);
  change_each(grid, in("grid"));
  change_each(block, in("block"));
  change(keep_threads, true, "keep_threads", see);
  change(shared_memory, Bytes(0), "shared_memory", see);
  auto& [path, digest] = ir;
  change(path, "/nonexistent/other.ll", "ir", see);
  change(digest, "00112233445566778899aabbccddeeff", "ir_digest", see);
  change_each(specialise, in("specialise"));
  change_each(codegen, in("codegen"));
  change_each(assembler, in("assembler"));
  change_each(execution, in("execution"));
  change(tolerance, {BufferTolerance{"out", {}}}, "tolerance", see);
  change(tolerance, {BufferTolerance{"in", {}}}, "tolerance.buffer", see);
  tolerance.push_back({"out", {}});
  change_each(tolerance[0].tolerance, in("tolerance"));
  tolerance.pop_back();
  change_each(verdict, in("verdict"));
}

// "execution" of "execution.iterations".
inline std::string section_of(const std::string& member) { return member.substr(0, member.find('.')); }

}  // namespace mneme::testing_members
