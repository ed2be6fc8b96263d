#include "mneme/cli/cached_ir.h"

#include <nlohmann/json.hpp>

#include "mneme/base/activity.h"
#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/cli/guarded_end.h"
#include "mneme/compile/nvptx/foreign_ir.h"
#include "mneme/ir/kernel_launch.h"
#include "mneme/process/guarded.h"
#include "mneme/replay/json_text.h"

namespace mneme::cli {
namespace {

using nlohmann::json;
using Kind = CodeImageRecord::Kind;

Path beside(Path cubin, const char* extension) { return cubin.replace_extension(extension); }

// Empty where there is no such file.
std::string text_of(const Path& path) {
  const auto bytes = FileSystem::posix().read(path);
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string();
}

// Triton contracts unless it was asked not to.
nvptx::ForeignContraction contraction_of(const Path& cubin) {
  const json metadata = json_in(text_of(beside(cubin, ".json")));
  const auto asked = metadata.is_object() ? metadata.find("enable_fp_fusion") : metadata.end();
  return asked != metadata.end() && *asked == false ? nvptx::ForeignContraction::no : nvptx::ForeignContraction::yes;
}

Parameter parameter_of(const ir::KernelParameter& parameter) {
  constexpr Parameter::Kind kKinds[] = {Parameter::Kind::integer, Parameter::Kind::floating, Parameter::Kind::pointer,
                                        Parameter::Kind::aggregate};
  return {kKinds[static_cast<size_t>(parameter.kind)],
          parameter.name,
          parameter.type,
          parameter.offset,
          parameter.size,
          parameter.alignment};
}

Result<std::vector<Parameter>> parameters_as_recorded(const std::vector<ir::KernelParameter>& in_ir, const KernelRecord& kernel,
                                                      const std::string& name) {
  if (in_ir.size() != kernel.parameters.size())
    return error(Code::incompatible, "{}: '{}' takes {} parameters, and {} as it was recorded", name, kernel.name, in_ir.size(),
                 kernel.parameters.size());
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < in_ir.size(); ++i) {
    const Parameter& recorded = kernel.parameters[i];
    parameters.push_back(parameter_of(in_ir[i]));
    if (in_ir[i].offset != recorded.offset || in_ir[i].size != recorded.size)
      return error(Code::incompatible, "{}: parameter {} of '{}' has {} bytes at offset {}, and {} at {} as it was recorded",
                   name, i, kernel.name, in_ir[i].size, in_ir[i].offset, recorded.size, recorded.offset);
  }
  return parameters;
}

// As LLVM writes the name of a variable in PTX, which has fewer characters than IR.
std::string name_in_ptx(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == '.' || c == '@' || c == '<' || c == '>' ? std::string("_$_") : std::string(1, c);
  return text;
}

// What was recorded of a variable must have a place in a replay, or be a constant, whose value the IR has.
Status check_variables(const ir::Module& module, const KernelRecord& kernel, const std::string& name) {
  const std::vector<ir::GlobalVariableInfo> variables = module.global_variables();
  for (const GlobalInfo& recorded : kernel.globals) {
    const bool there = std::any_of(variables.begin(), variables.end(), [&](const ir::GlobalVariableInfo& variable) {
      if (variable.size != recorded.size || variable.is_declaration) return false;
      return variable.is_constant ? name_in_ptx(variable.name) == recorded.name : variable.name == recorded.name;
    });
    if (!there) return error(Code::incompatible, "{}: it has no variable '{}', which was recorded", name, shown(recorded.name));
  }
  return {};
}

// Whether there is anything to look for.
bool wants_ir(const KernelRecord& kernel) {
  return kernel.level != CodeLevel::ir && kernel.target == "nvptx" && kernel.find_image(Kind::cubin) != nullptr;
}

// Whether the IR of the kernel was found.
Result<bool> add_cached_ir_of(const KernelRecord& kernel, Database& database, CompilerCaches& caches) {
  const std::string name = shown(kernel.demangled);
  const std::vector<Path> found = caches.find(*kernel.find_image(Kind::cubin));
  if (found.empty()) log::debug("{}: no cache of a compiler has its cubin, and so its LLVM IR is not known", name);
  Status unusable;
  for (const Path& path : found) {
    const auto code = read_cached_ir(kernel, path);
    if (code.ok()) {
      MNEME_TRY(database.add_ir(code->kernel, code->bitcode));
      return true;
    }
    unusable = code.status();
  }
  if (!unusable.ok())
    log::warning("{} stays without LLVM IR: a cache has its cubin, but not usable IR: {}", name, unusable.message());
  return false;
}

}  // namespace

Result<CachedIr> read_cached_ir(const KernelRecord& kernel, const Path& cubin) {
  ActivityScope compiling(Activity::compiling);
  const Path path = beside(cubin, ".llir");
  const std::string name = shown(path.string(), 0);
  MNEME_ASSIGN(const ByteVector text, FileSystem::posix().read(path));
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(text, name));
  CachedIr cached{kernel, {}};
  const std::string ptx = text_of(beside(cubin, ".ptx"));
  MNEME_ASSIGN(cached.kernel.arch, nvptx::complete_foreign_ir(module, {kernel.name, kernel.arch, ptx, contraction_of(cubin)}));
  MNEME_ASSIGN(const auto parameters, ir::kernel_parameters(module, kernel.name));
  MNEME_ASSIGN(cached.kernel.parameters, parameters_as_recorded(parameters, kernel, name));
  MNEME_TRY(check_variables(module, kernel, name));
  cached.kernel.level = CodeLevel::ir;
  cached.bitcode = module.bitcode();
  return cached;
}

Result<uint64_t> add_cached_ir(Database& database, CompilerCaches& caches) {
  MNEME_ASSIGN(const Listing listing, database.list());
  uint64_t found = 0;
  for (const KernelDocument& document : listing.kernels) {
    if (!wants_ir(document.kernel)) continue;
    MNEME_ASSIGN(const bool added, add_cached_ir_of(document.kernel, database, caches));
    found += added ? 1 : 0;
  }
  return found;
}

Result<uint64_t> add_cached_ir_guarded(const Path& database, const std::vector<Path>& folders) {
  constexpr GuardLimits kLimits{GuardLimits::Seconds(60), {}, {}, 4_GiB};
  MNEME_ASSIGN(const GuardedEnd end, run_guarded(kLimits, [&]() -> std::string {
                 CompilerCaches caches(folders);
                 auto opened = Database::create(database);
                 if (!opened.ok()) return json_text({{"error", opened.status().message()}});
                 const auto found = add_cached_ir(*opened, caches);
                 return json_text(found.ok() ? json{{"found", *found}} : json{{"error", found.status().message()}});
               }));
  if (end.how == GuardedEnd::How::interrupted) return error(Code::io, "it was interrupted");
  if (end.how != GuardedEnd::How::finished) return explain(end);
  const json reply = json_in(end.reply);
  if (reply.is_object() && reply.contains("found")) return reply["found"].get<uint64_t>();
  return error(Code::io, "{}", reply.is_object() ? reply.value("error", std::string()) : "what was found cannot be read");
}

}  // namespace mneme::cli
