#include "mneme/cli/code_order.h"

#include "mneme/cli/guarded_end.h"
#include "mneme/cli/supervise.h"
#include "mneme/compile/compile_key.h"
#include "mneme/ir/order_dependence.h"
#include "mneme/process/guarded.h"
#include "mneme/replay/json_text.h"

namespace mneme::cli {
namespace {

using nlohmann::json;

std::string look(ByteSpan bitcode, const std::string& name) {
  ActivityScope compiling(Activity::compiling);
  auto module = ir::Module::parse(bitcode, name);
  if (!module.ok()) return json_text({{"error", module.status().message()}});
  json found = json::array();
  for (const ir::OrderDependence& d : ir::find_order_use(*module).dependences)
    found.push_back({{"kind", to_string(d.kind)},
                     {"places", d.places},
                     {"first", d.first.empty() ? json() : json(d.first)},
                     {"what", describe(d)}});
  return json_text(found);
}

Digest key_of(ByteSpan bitcode) {
  return Hasher().add(std::string_view("order dependences")).add(build_identity()).add(bitcode).finish();
}

std::optional<json> find(DiskCache& cache, const Digest& key) {
  const auto entry = cache.read(key);
  if (!entry) return std::nullopt;
  json found = json_in(std::string(reinterpret_cast<const char*>(entry->data()), entry->size()));
  return found.is_array() ? std::optional(std::move(found)) : std::nullopt;
}

Result<json> find_by_llvm(ByteSpan bitcode, const std::string& name) {
  constexpr GuardLimits kLimits{GuardLimits::Seconds(30), {}, {}, 4_GiB};
  MNEME_ASSIGN(GuardedEnd end, run_guarded(kLimits, [&] { return look(bitcode, name); }));
  if (end.how == GuardedEnd::How::interrupted) end_as(end.number);
  if (end.how != GuardedEnd::How::finished) return explain(end);
  json found = json_in(end.reply);
  if (found.is_array()) return found;
  return error(Code::corrupt, "{}", found.is_object() ? found.value("error", std::string()) : "what was found cannot be read");
}

}  // namespace

Result<json> order_dependences_in(ByteSpan bitcode, const std::string& name, const std::shared_ptr<DiskCache>& cache) {
  if (!cache) return find_by_llvm(bitcode, name);
  const Digest key = key_of(bitcode);
  if (auto known = find(*cache, key)) return std::move(*known);
  MNEME_ASSIGN(json found, find_by_llvm(bitcode, name));
  const std::string text = json_text(found);
  cache->put(key, std::as_bytes(std::span(text)));
  return found;
}

}  // namespace mneme::cli
