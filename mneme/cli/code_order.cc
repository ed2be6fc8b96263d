#include "mneme/cli/code_order.h"

#include "mneme/cli/guarded_end.h"
#include "mneme/cli/supervise.h"
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

}  // namespace

Result<json> order_dependences_in(ByteSpan bitcode, const std::string& name) {
  constexpr GuardLimits kLimits{GuardLimits::Seconds(30), {}, {}, 4_GiB};
  MNEME_ASSIGN(GuardedEnd end, run_guarded(kLimits, [&] { return look(bitcode, name); }));
  if (end.how == GuardedEnd::How::interrupted) end_as(end.number);
  if (end.how != GuardedEnd::How::finished) return explain(end);
  json found = json_in(end.reply);
  if (found.is_array()) return found;
  return error(Code::corrupt, "{}", found.is_object() ? found.value("error", std::string()) : "what was found cannot be read");
}

}  // namespace mneme::cli
