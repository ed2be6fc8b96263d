// Each member of what a recording is, changed alone; see base/testing/each_member.h. Of lists the first element's.
#pragma once

#include "mneme/base/testing/each_member.h"
#include "mneme/snapshot/codec.h"

namespace mneme::testing_members {

inline SeeMember within(const std::string& outer, const SeeMember& see) {
  return [&see, outer](const std::string& name) { see(outer + "." + name); };
}

inline void change_each(Dim3& value, const SeeMember& see) {
  auto& [x, y, z] = value;
  change(x, 3u, "x", see);
  change(y, 3u, "y", see);
  change(z, 3u, "z", see);
}

inline void change_each(Parameter& value, const SeeMember& see) {
  auto& [kind, name, type, offset, size, alignment] = value;
  change(kind, Parameter::Kind::aggregate, "kind", see);
  change(name, "other", "name", see);
  change(type, "i8", "type", see);
  change(offset, 1u, "offset", see);
  change(size, 1u, "size", see);
  change(alignment, 2u, "alignment", see);
}

inline void change_each(GlobalInfo& value, const SeeMember& see) {
  auto& [name, size, alignment, constant_space, managed, escapes] = value;
  change(name, "other", "name", see);
  change(size, 1u, "size", see);
  change(alignment, 2u, "alignment", see);
  change(constant_space, !constant_space, "constant_space", see);
  change(managed, !managed, "managed", see);
  change(escapes, !escapes, "escapes", see);
}

inline void change_each(KernelRecord& value, const SeeMember& see) {
  auto& [static_hash, name, demangled, source, target, arch, pipeline, parameters, parameter_bytes, globals, level, images] =
      value;
  change(name, "other", "name", see);
  change(demangled, "other", "demangled", see);
  change(source, "other", "source", see);
  change(target, "amdgcn", "target", see);
  change(arch, "other", "arch", see);
  change(pipeline, "default<O1>", "pipeline", see);
  change(parameters, {}, "parameters", see);
  change_each(parameters.at(0), within("parameters", see));
  change(globals, {}, "globals", see);
  change_each(globals.at(0), within("globals", see));
  change(images, {}, "images", see);
  auto& [kind, digest, size] = images.at(0);
  change(kind, CodeImageRecord::Kind::ptx, "images.kind", see);
  change(digest, digest_of(ByteVector(1)), "images.digest", see);
  change(size, Bytes(7), "images.size", see);
  // Of which the instances' are, with which their files are named, and which has IR: changed with them, see KernelDocument.
  [[maybe_unused]] auto& with_ir = level;
  [[maybe_unused]] auto& together = static_hash;
  [[maybe_unused]] auto& of_all = parameter_bytes;
}

inline void change_each(RecordedTime& value, const SeeMember& see) {
  auto& [clock_source, captured, others, others_min, others_median] = value;
  change(clock_source, "other", "clock_source", see);
  change(captured, std::nullopt, "captured", see);
  change(captured, 0.5, "captured", see);
  change(others, 1u, "others", see);
  change(others_min, 0.5, "others_min", see);
  change(others_median, 0.5, "others_median", see);
}

inline void change_each(Annotation& value, const SeeMember& see) {
  auto& [address, size, tag, tolerance] = value;
  auto& [type, threshold, error, norm, nan] = tolerance;
  change(address, DevicePtr(0x4000), "address", see);
  change(size, Bytes(32), "size", see);
  change(tag, "other", "tag", see);
  change(type, ElementType::f64, "type", see);
  change(threshold, 0.1234567890123456789, "threshold", see);
  change(error, ErrorKind::absolute, "error", see);
  change(norm, Norm::l2, "norm", see);
  change(nan, NanPolicy::any, "nan", see);
}

inline void change_each(ShapeLaunches& value, const SeeMember& see) {
  auto& [count, total] = value;
  change(count, 7u, "count", see);
  change(total, std::nullopt, "total", see);
  change(total, 7.0, "total", see);
}

inline void change_each(Trimming& value, const SeeMember& see) {
  auto& [of, pages, bytes] = value;
  change(of, {digest_of(ByteVector(1)), digest_of(ByteVector(2))}, "of", see);
  change(pages, 7u, "pages", see);
  change(bytes, Bytes(7), "bytes", see);
}

// All but the static hash, which is the kernel's.
inline void change_each(InstanceRecord& value, const SeeMember& see) {
  auto& [static_hash, dynamic_hash, grid, block, dynamic_shared_memory, cooperative, parameters, device_kind, device_name,
         space_base, space_size, state_bytes, recorded_at, mneme_version, annotations, recorded_time, shape_launches, cluster,
         attributes, memory_extent, trimmed] = value;
  change(dynamic_hash, digest_of(ByteVector(1)), "dynamic_hash", see);
  change_each(grid, within("grid", see));
  change_each(block, within("block", see));
  change(dynamic_shared_memory, Bytes(7), "dynamic_shared_memory", see);
  change(cooperative, !cooperative, "cooperative", see);
  change(parameters, ByteVector(parameters.size(), std::byte{7}), "parameters", see);
  change(device_kind, "other", "device_kind", see);
  change(device_name, "other", "device_name", see);
  change(space_base, DevicePtr(0x10000), "space_base", see);
  change(space_size, Bytes(7), "space_size", see);
  change(state_bytes, Bytes(7), "state_bytes", see);
  change(recorded_at, "other", "recorded_at", see);
  change(mneme_version, "other", "mneme_version", see);
  change(annotations, {}, "annotations", see);
  if (!annotations.empty()) change_each(annotations[0], within("annotations", see));
  change(recorded_time, std::nullopt, "recorded_time", see);
  if (recorded_time) change_each(*recorded_time, within("recorded_time", see));
  change(cluster, Dim3{2, 1, 1}, "cluster", see);
  change(attributes, {{"priority", "-1"}}, "attributes", see);
  change(memory_extent, MemoryExtent::reachable, "memory_extent", see);
  change(trimmed, std::nullopt, "trimmed", see);
  if (trimmed) change_each(*trimmed, within("trimmed", see));
  change(shape_launches, std::nullopt, "shape_launches", see);
  if (shape_launches) change_each(*shape_launches, within("shape_launches", see));
}

inline void change_each(KernelDocument& value, const SeeMember& see) {
  auto& [kernel, ir_size, ir_digest, instances, lists_instances] = value;
  change_each(kernel, within("kernel", see));
  change(ir_size, Bytes(7), "ir_size", see);
  change(ir_digest, digest_of(ByteVector(1)), "ir_digest", see);
  change_each(instances.at(0), within("instances", see));
  [[maybe_unused]] auto& of_version_1 = lists_instances;  // where the instances are written
  const KernelDocument before = value;
  kernel.static_hash = instances[0].static_hash = digest_of(ByteVector(1));
  see("static_hash");
  kernel.parameter_bytes = 24;
  instances[0].parameters.resize(24);
  see("parameter_bytes");
  instances.push_back(instances[0]);
  see("instances");
  value = before;
  kernel.level = CodeLevel::cubin;
  ir_size = Bytes();
  ir_digest = Digest();
  see("level");
  value = before;
}

// Where the region lies within its one page.
inline void change_each(Region& value, const SeeMember& see) {
  auto& [kind, address, size, name, pages] = value;
  change(kind, Region::Kind::host, "kind", see);
  change(address, address + Bytes(8), "address", see);
  change(size, Bytes(size.count - 8), "size", see);
  change(name, "other", "name", see);
  auto& [bytes] = pages.at(0);
  for (size_t i : {size_t{0}, bytes.size() - 1}) change(bytes[i], static_cast<uint8_t>(bytes[i] ^ 1), "pages", see);
}

inline void change_each(TexelLayout& value, const SeeMember& see) {
  auto& [format, channels] = value;
  change(format, 0x0au, "format", see);
  change(channels, 2u, "channels", see);
}

// Of a texture of rows of memory, whose array and level mean nothing.
inline void change_each(TextureObject& value, const SeeMember& see) {
  auto& [kind, handle, source, array, level, memory, texel, width, height, pitch, sampling, view] = value;
  change(handle, 7u, "handle", see);
  change(array, 7u, "array", see);
  change(level, 7u, "level", see);
  change(source, TextureObject::Source::linear, "source", see);
  change(memory, {memory.address + Bytes(8), memory.size}, "memory.address", see);
  change(memory, {memory.address, memory.size + Bytes(8)}, "memory.size", see);
  change(texel.format, 0x0au, "texel.format", see);
  change(width, 1u, "width", see);
  change(height, 1u, "height", see);
  change(pitch, pitch + 8, "pitch", see);
  auto& [address, filter, flags, anisotropy, level_filter, level_bias, least_level, greatest_level, border] = sampling;
  change(address, {1, 2, 3}, "address", see);
  change(filter, 7u, "filter", see);
  change(flags, 7u, "flags", see);
  change(anisotropy, 7u, "anisotropy", see);
  change(level_filter, 7u, "level_filter", see);
  change(level_bias, 7.0f, "level_bias", see);
  change(least_level, 7.0f, "least_level", see);
  change(greatest_level, 7.0f, "greatest_level", see);
  change(border, {1, 2, 3, 4}, "border", see);
  change(view, std::nullopt, "view", see);
  auto& [format, view_width, view_height, depth, first_level, last_level, first_layer, last_layer] = view.value();
  change(format, 7u, "view.format", see);
  change(view_width, 7u, "view.width", see);
  change(view_height, 7u, "view.height", see);
  change(depth, 7u, "view.depth", see);
  change(first_level, 7u, "view.first_level", see);
  change(last_level, 7u, "view.last_level", see);
  change(first_layer, 7u, "view.first_layer", see);
  change(last_layer, 7u, "view.last_layer", see);
  [[maybe_unused]] auto& of_an_array = kind;  // surfaces are of arrays alone
}

}  // namespace mneme::testing_members
