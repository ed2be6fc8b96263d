#include "mneme/replay/code_level.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mneme/device/backend.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// What older versions wrote for a configuration that names no pipeline.
constexpr std::string_view kNamedNone = "default<O3>";

bool is_within(std::string_view path, std::string_view section) {
  return path == section || (path.starts_with(section) && path.substr(section.size()).starts_with("."));
}

// What a member is without, at the level of the kernel's code; empty where the level has it.
std::string_view lacking(std::string_view path, CodeLevel level) {
  for (std::string_view section : {"linkage", "pass_plugins", "ir", "ir_digest", "specialise", "codegen"})
    if (is_within(path, section)) return "IR";
  return level == CodeLevel::cubin && is_within(path, "assembler") ? "PTX" : "";
}

// Whether the member has another value than by default: only then a configuration's JSON has it.
bool is_set(const Json& configuration, const std::string& path) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return configuration.contains(Json::json_pointer(pointer));
}

}  // namespace

bool has_program_code(const KernelRecord& kernel) {
  return kernel.level != CodeLevel::ir || (kernel.pipeline.empty() && kernel.find_image(CodeImageRecord::Kind::cubin) != nullptr);
}

CodeLevel program_level(const KernelRecord& kernel) {
  if (kernel.level != CodeLevel::ir) return kernel.level;
  return kernel.find_image(CodeImageRecord::Kind::ptx) != nullptr ? CodeLevel::ptx : CodeLevel::cubin;
}

std::string describe_as_built(const KernelRecord& kernel) {
  if (has_program_code(kernel)) return "the program's own code";
  return kernel.pipeline.empty() ? fmt::format("{}, as the recording does not say", kWhereNotKnown) : kernel.pipeline;
}

std::string describe_pipeline(const std::string& passes, const KernelRecord& kernel) {
  if (passes == kAsBuilt) return fmt::format("{}: {}", kAsBuilt, describe_as_built(kernel));
  return names_as_built(passes) ? fmt::format("{}; {} is {}", passes, kAsBuilt, describe_as_built(kernel)) : passes;
}

bool names_program_code(const Configuration& configuration, const KernelRecord& kernel) {
  return kernel.level != CodeLevel::ir || (configuration.passes == kAsBuilt && has_program_code(kernel));
}

Status check_code_level(const Configuration& configuration, const KernelRecord& kernel) {
  if (!names_program_code(configuration, kernel)) return {};
  if (configuration.passes != kAsBuilt && configuration.passes != kNamedNone)
    return error(Code::unsupported, "passes: {}: there is no IR that passes could change; leave the pipeline out, or say {}",
                 recorded_as(kernel), kAsBuilt);
  const Json json = to_json(configuration);
  for (const ConfigurationField& field : configuration_fields()) {
    const std::string_view lacks = lacking(field.key, program_level(kernel));
    if (lacks.empty() || !is_set(json, field.key)) continue;
    if (kernel.level == CodeLevel::ir)
      return error(Code::unsupported,
                   "{}: {} is the program's own machine code, without {} that it could change; name a pipeline", field.key,
                   kAsBuilt, lacks);
    return error(Code::unsupported, "{}: {}: there is no {} that it could change; leave it out", field.key, recorded_as(kernel),
                 lacks);
  }
  return {};
}

Configuration shown_for(Configuration configuration, const KernelRecord& kernel) {
  if (kernel.level != CodeLevel::ir && configuration.passes == kNamedNone) configuration.passes = kAsBuilt;
  return configuration;
}

Status check_device(const KernelRecord& kernel, DeviceKind kind) {
  if (kernel.level == CodeLevel::ir || runs_program_code(kind)) return {};
  std::string able;
  for (const Backend& backend : backends())
    if (runs_program_code(backend.kind))
      able += fmt::format("{}a {} (--device {})", able.empty() ? "" : ", ", backend.title, backend.name);
  return error(Code::unsupported, "{}, without LLVM IR: it can be replayed on {}, and not on the {}", recorded_as(kernel), able,
               backend_of(kind).title);
}

Status check_block(const ProgramCode& code, const KernelRecord& kernel, const LaunchShape& shape, DeviceKind kind) {
  return check_block(required_block(code, kind), kernel, shape);
}

Status check_block(const std::optional<Dim3>& required, const KernelRecord& kernel, const LaunchShape& shape) {
  if (!required || *required == shape.block) return {};
  return error(Code::invalid_argument,
               "block is {}: {}, which can be launched with blocks of {} alone (.reqntid); leave the block as recorded",
               shape.block, recorded_as(kernel), *required);
}

Status no_ir(const KernelRecord& kernel, std::string_view what) {
  return error(Code::unsupported, "no IR: {}, {}", recorded_as(kernel), what);
}

}  // namespace mneme
