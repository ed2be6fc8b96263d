#include "mneme/compile/amdgpu/architecture.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/TargetParser.h>

#include <algorithm>
#include <vector>

#include "mneme/base/amd_target.h"
#include "mneme/base/suggestion.h"

namespace mneme::amdgpu {
namespace {

using llvm::AMDGPU::GPUKind;

GPUKind kind_of(std::string_view processor) { return llvm::AMDGPU::parseArchAMDGCN(processor); }

bool has(std::string_view processor, unsigned features) {
  return (llvm::AMDGPU::getArchAttrAMDGCN(kind_of(processor)) & features) != 0;
}

std::vector<std::string> known_processors() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::AMDGPU::fillValidArchListAMDGCN(names);
  std::vector<std::string> known;
  for (llvm::StringRef name : names)
    if (name.starts_with("gfx")) known.push_back(name.str());
  return known;
}

std::string spelled(const char* feature, Setting setting) {
  return setting == Setting::any ? "" : fmt::format(":{}{}", feature, setting == Setting::on ? '+' : '-');
}

}  // namespace

std::string TargetId::text() const { return processor + spelled("sramecc", sramecc) + spelled("xnack", xnack); }

bool is_generic(std::string_view processor) { return processor.ends_with("-generic"); }
bool has_xnack(std::string_view processor) { return has(processor, llvm::AMDGPU::FEATURE_XNACK); }
bool has_sramecc(std::string_view processor) { return has(processor, llvm::AMDGPU::FEATURE_SRAMECC); }
bool has_wavefront_of_32(std::string_view processor) { return has(processor, llvm::AMDGPU::FEATURE_WAVE32); }
// The first without is gfx1250.
bool has_wavefront_of_64(std::string_view processor) { return isa_version(processor) < 12500; }

uint32_t isa_version(std::string_view processor) {
  const auto [major, minor, stepping] = llvm::AMDGPU::getIsaVersion(processor);
  return 1000 * major + 100 * minor + stepping;
}

Result<TargetId> parse_target_id(std::string_view text) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  llvm::StringRef(text).split(parts, ':');
  TargetId id{parts[0].str()};
  if (!parts[0].starts_with("gfx") || kind_of(id.processor) == GPUKind::GK_NONE)
    return error(Code::unsupported, "making code for {}: LLVM {} does not know the architecture{}", text, LLVM_VERSION_STRING,
                 did_you_mean(id.processor, known_processors()));
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_front()) {
    const llvm::StringRef name = part.drop_back();
    const bool known = name == "xnack" || name == "sramecc";
    if (!known || (part.back() != '+' && part.back() != '-'))
      return error(Code::invalid_argument,
                   "the target '{}': '{}' is no feature of a target ID, which has xnack and sramecc, each "
                   "with + or - behind it, as in gfx90a:sramecc+:xnack-",
                   text, part.str());
    Setting& setting = name == "xnack" ? id.xnack : id.sramecc;
    if (!(name == "xnack" ? has_xnack(id.processor) : has_sramecc(id.processor)))
      return error(Code::invalid_argument, "the target '{}': {} has no {}", text, id.processor, name.str());
    if (setting != Setting::any) return error(Code::invalid_argument, "the target '{}' names {} twice", text, name.str());
    setting = part.back() == '+' ? Setting::on : Setting::off;
  }
  return id;
}

bool runs_on(std::string_view target, std::string_view device) {
  return parse_target_id(target).ok() && parse_target_id(device).ok() && amd_device_runs(target, device);
}

}  // namespace mneme::amdgpu
