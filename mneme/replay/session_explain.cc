#include "mneme/base/log.h"
#include "mneme/ir/access_types.h"
#include "mneme/ir/order_dependence.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"
#include "mneme/verify/difference.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {

Result<RunMemory> Session::observe(const Loaded& loaded) { return memory_->observe(loaded.symbols, start()); }

Result<const ir::Module*> Session::code_of(const Configuration& configuration) {
  if (code_->sources() == nullptr) return no_ir(kernel_, "and what depends on the order of threads is not known");
  MNEME_ASSIGN(KernelCode * code, code_->sources()->find(configuration.ir));
  return code->module();
}

void Session::explain(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) {
  // Of a replay whose code is in the cache this is what needs LLVM first.
  if (const Status found = find_explanation(loaded, tolerated, result); !found.ok())
    log::warning("the result is not verified, and why is not looked for: {}", found.message());
}

Status Session::find_explanation(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) {
  if (!has_ir()) return {};
  MNEME_ASSIGN(const ir::Module* code, code_of({}));
  for (const ir::OrderDependence& dependence : ir::find_order_use(*code).dependences)
    result.order_dependences.push_back(describe(dependence));
  if (!masked_) return {};
  MNEME_ASSIGN(const ir::AccessTypes accesses, ir::access_types(*code, kernel_.name));
  MNEME_ASSIGN(const std::vector<TypedRange> ranges, typed_ranges_of(kernel_, instance_, plan_, tolerated, accesses, {}));
  MNEME_ASSIGN(const RunMemory memory, observe(loaded));
  MNEME_ASSIGN(const std::vector<RangeDifference> differences, find_differences(memory, ranges));
  auto& found = result.not_written.emplace();
  for (const RangeDifference& d : differences)
    if (d.not_written != 0)
      found.push_back({d.range.where, d.range.type, d.elements, d.not_written, d.first_not_written.value_or(0), d.wrong()});
  return {};
}

void Session::name_mismatches(ReplayResult& result) const {
  for (Mismatch& mismatch : result.mismatches)
    if (!mismatch.outside) mismatch.buffer = name_of(mismatch.address + Bytes(mismatch.first_offset), kernel_, instance_, plan_);
}

}  // namespace mneme
