#include "mneme/snapshot/launch_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "mneme/snapshot/json_cursor.h"

namespace mneme {
namespace {

using nlohmann::json;

constexpr const char* kProfileFormat = "mneme profile";
constexpr uint64_t kMajor = 1, kMinor = 0;

json extents(const Dim3& d) { return json::array({d.x, d.y, d.z}); }

json to_json(const TimedLaunches& of) {
  json launches = {{"launches", of.launches}, {"timed", of.timed}};
  if (of.timed != 0) launches.update({{"mean", of.mean}, {"min", of.min}, {"max", of.max}});
  return launches;
}

Status read_launches(const JsonCursor& at, TimedLaunches& out) {
  MNEME_TRY(at.read("launches", out.launches));
  MNEME_TRY(at.read("timed", out.timed));
  if (out.timed > out.launches) return at.corrupt(fmt::format("{} of {} launches are timed", out.timed, out.launches));
  if (out.timed == 0) return {};
  MNEME_TRY(at.read("mean", out.mean));
  MNEME_TRY(at.read("min", out.min));
  return at.read("max", out.max);
}

json to_json(const ShapeProfile& of) {
  json shape = to_json(of.launches);
  shape.update({{"grid", extents(of.shape.grid)},
                {"block", extents(of.shape.block)},
                {"dynamic_shared_memory", of.shape.shared.count},
                {"cooperative", of.shape.cooperative}});
  if (of.shape.cluster != kNoCluster) shape["cluster"] = extents(of.shape.cluster);
  return shape;
}

Status read_shape(const JsonCursor& at, ShapeProfile& out) {
  MNEME_TRY(read_launches(at, out.launches));
  MNEME_TRY(at.read("grid", out.shape.grid));
  MNEME_TRY(at.read("block", out.shape.block));
  MNEME_TRY(at.read("dynamic_shared_memory", out.shape.shared));
  MNEME_TRY(at.read("cooperative", out.shape.cooperative));
  return at.value().contains("cluster") ? at.read("cluster", out.shape.cluster) : Status();
}

// Its own sums are written for other readers; this one makes them anew.
json to_json(const KernelProfile& of, double whole) {
  json kernel = to_json(of.launches());
  json shapes = json::array();
  for (const ShapeProfile& shape : of.shapes) shapes.push_back(to_json(shape));
  kernel.update({{"name", of.name},
                 {"demangled", of.demangled},
                 {"total", of.total()},
                 {"share", whole > 0 ? of.total() / whole : 0},
                 {"shapes", shapes}});
  if (of.static_hash) kernel["static_hash"] = of.static_hash->hex();
  if (of.first) kernel["first"] = *of.first;
  return kernel;
}

Status read_kernel(const JsonCursor& at, KernelProfile& out) {
  MNEME_TRY(at.read("name", out.name));
  MNEME_TRY(at.read("demangled", out.demangled));
  if (at.value().contains("static_hash")) MNEME_TRY(at.read("static_hash", out.static_hash.emplace()));
  if (at.value().contains("first")) MNEME_TRY(at.read("first", out.first.emplace()));
  return at.each("shapes", [&](const JsonCursor& shape) { return read_shape(shape, out.shapes.emplace_back()); });
}

void add_shape(KernelProfile& kernel, const ShapeProfile& shape) {
  const auto same = [&](const ShapeProfile& other) { return other.shape == shape.shape; };
  const auto found = std::find_if(kernel.shapes.begin(), kernel.shapes.end(), same);
  if (found == kernel.shapes.end())
    kernel.shapes.push_back(shape);
  else
    found->launches.add(shape.launches);
}

void add_kernel(KernelProfile& into, const KernelProfile& other) {
  if (other.first) into.first = std::min(into.first.value_or(*other.first), *other.first);
  for (const ShapeProfile& shape : other.shapes) add_shape(into, shape);
}

}  // namespace

void TimedLaunches::add_time(double time) {
  min = timed == 0 ? time : std::min(min, time);
  max = std::max(max, time);
  mean += (time - mean) / static_cast<double>(++timed);
}

void TimedLaunches::add(const TimedLaunches& others) {
  launches += others.launches;
  if (others.timed == 0) return;
  min = timed == 0 ? others.min : std::min(min, others.min);
  max = std::max(max, others.max);
  timed += others.timed;
  mean += (others.mean - mean) * static_cast<double>(others.timed) / static_cast<double>(timed);
}

TimedLaunches KernelProfile::launches() const {
  TimedLaunches all;
  for (const ShapeProfile& shape : shapes) all.add(shape.launches);
  return all;
}

double KernelProfile::total() const {
  const TimedLaunches all = launches();
  if (all.timed == 0) return first.value_or(0) * static_cast<double>(all.launches);
  double sum = 0;
  for (const auto& [shape, of_shape] : shapes)
    sum += of_shape.timed != 0 ? of_shape.total() : all.mean * static_cast<double>(of_shape.launches);
  return sum;
}

void LaunchProfile::add(const LaunchProfile& other) {
  if (clock_source.empty()) clock_source = other.clock_source;
  if (device_kind.empty()) device_kind = other.device_kind, device_name = other.device_name;
  for (const KernelProfile& kernel : other.kernels) {
    const auto same = [&](const KernelProfile& k) { return k.name == kernel.name && k.static_hash == kernel.static_hash; };
    auto found = std::find_if(kernels.begin(), kernels.end(), same);
    if (found == kernels.end()) {
      kernels.push_back({kernel.name, kernel.demangled, kernel.static_hash, {}, {}});
      found = std::prev(kernels.end());
    }
    add_kernel(*found, kernel);
  }
  for (KernelProfile& kernel : kernels)
    std::sort(kernel.shapes.begin(), kernel.shapes.end(), [](const ShapeProfile& a, const ShapeProfile& b) {
      return std::tie(b.launches.launches, a.shape) < std::tie(a.launches.launches, b.shape);
    });
  std::sort(kernels.begin(), kernels.end(), [](const KernelProfile& a, const KernelProfile& b) {
    return std::pair(b.total(), a.name) < std::pair(a.total(), b.name);
  });
}

double LaunchProfile::total() const {
  double sum = 0;
  for (const KernelProfile& kernel : kernels) sum += kernel.total();
  return sum;
}

std::vector<std::string> slowest_kernels(const LaunchProfile& profile, size_t count) {
  LaunchProfile ordered;
  ordered.add(profile);
  std::vector<std::string> names;
  for (const KernelProfile& kernel : ordered.kernels)
    if (kernel.static_hash && names.size() < count) names.push_back(kernel.name);
  return names;
}

std::string encode_launch_profile(const LaunchProfile& profile) {
  const double whole = profile.total();
  json kernels = json::array();
  for (const KernelProfile& kernel : profile.kernels) kernels.push_back(to_json(kernel, whole));
  const json root = {{"format", kProfileFormat},
                     {"version", {{"major", kMajor}, {"minor", kMinor}}},
                     {"clock_source", profile.clock_source},
                     {"device_kind", profile.device_kind},
                     {"device_name", profile.device_name},
                     {"total", whole},
                     {"kernels", kernels}};
  return root.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<LaunchProfile> decode_launch_profile(std::string_view text, const std::string& name) {
  MNEME_ASSIGN(const json root, parse_json(text, name));
  const JsonCursor at(root, name);
  std::string format;
  MNEME_TRY(at.read("format", format));
  if (format != kProfileFormat)
    return at.member("format")->corrupt(fmt::format("'{}' expected, not '{}'", kProfileFormat, format));
  MNEME_ASSIGN(const JsonCursor version, at.member("version"));
  uint64_t major = 0;
  MNEME_TRY(version.read("major", major));
  if (major != kMajor)
    return error(Code::incompatible,
                 "{}: the profile is of version {}, and this Mneme reads version {}: profile the program again", name, major,
                 kMajor);
  LaunchProfile profile;
  MNEME_TRY(at.read("clock_source", profile.clock_source));
  MNEME_TRY(at.read("device_kind", profile.device_kind));
  MNEME_TRY(at.read("device_name", profile.device_name));
  MNEME_TRY(at.each("kernels", [&](const JsonCursor& kernel) { return read_kernel(kernel, profile.kernels.emplace_back()); }));
  return profile;
}

}  // namespace mneme
