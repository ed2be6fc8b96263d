#include "mneme/replay/trim.h"

#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"
#include "mneme/store/trim.h"

namespace mneme {
namespace {

// Runs the launch once as a replay does, from masked memory, and times nothing.
Status verify(Session& session, std::string_view what) {
  const ReplayResult result = session.repeat({}, 1, [](unsigned, const ReplayResult&, const RunMemory&) { return Status(); });
  MNEME_TRY(result.failure);
  return result.verified ? Status() : error(Code::unsupported, "{} is not verified: {}", what, describe_wrong(result));
}

Result<std::vector<PagePlace>> find_untouched(const Database& database, const RecordedInstance& recorded, Device& device,
                                              const PrepareProgress& progress) {
  MNEME_ASSIGN(const auto session, Session::prepare(database, recorded, device, progress));
  MNEME_TRY(verify(*session, "the launch as it is"));
  const auto touched = session->find_touched_pages();
  if (!touched.ok()) return touched.status().with_context("which memory the launch touches cannot be found out");
  std::vector<PagePlace> untouched;
  for (size_t region = 0; region < touched->size(); ++region)
    for (size_t page = 0; page < (*touched)[region].size(); ++page)
      if (!(*touched)[region][page]) untouched.push_back({region, page});
  return untouched;
}

Status prove(Database& database, const RecordedInstance& trimmed, Device& device, const PrepareProgress& progress) {
  MNEME_TRY(store_dropped(database, trimmed));
  const auto verified = [&]() -> Status {
    MNEME_ASSIGN(const auto session, Session::prepare(database, trimmed, device, progress));
    return verify(*session, "the launch without the pages that it does not seem to touch");
  }();
  // What was stored for the proof goes with what else no instance needs.
  if (!verified.ok()) [[maybe_unused]]
    const auto ignored = database.clean({}, Deed::remove);
  return verified;
}

}  // namespace

Result<Trimmed> trim(Database& database, const Digest& static_hash, const Digest& dynamic_hash, Device& device, Deed deed,
                     const PrepareProgress& progress) {
  MNEME_ASSIGN(const KernelRecord kernel, database.load_kernel(static_hash));
  if (kernel.level != CodeLevel::ir)
    return no_ir(kernel,
                 "without LLVM IR, into which notes of its accesses would be put, on whichever device: trim the recording of a "
                 "build that has it (see `mneme config`), or keep this one whole")
        .with_context("which memory the launch touches cannot be found out");
  MNEME_ASSIGN(const RecordedInstance recorded, database.load_instance(static_hash, dynamic_hash));
  MNEME_ASSIGN(const std::vector<PagePlace> untouched, find_untouched(database, recorded, device, progress));
  const RecordedInstance trimmed = without_pages(recorded, kernel.level, untouched);
  Trimmed outcome;
  outcome.before = recorded.instance.dynamic_hash;
  outcome.after = trimmed.instance.dynamic_hash;
  for (const Region& region : recorded.prologue.regions) outcome.all_pages += region.pages.size();
  outcome.stored = outcome.stored_now = database.stored_pages(recorded);
  if (outcome.before == outcome.after) return outcome;
  const auto dropped_before = recorded.instance.trimmed.value_or(Trimming());
  outcome.pages = trimmed.instance.trimmed->pages - dropped_before.pages;
  outcome.bytes = trimmed.instance.trimmed->bytes - dropped_before.bytes;
  if (deed == Deed::remove) {
    MNEME_TRY(prove(database, trimmed, device, progress));
    MNEME_ASSIGN(const Cleaned cleaned, replace_by_trimmed(database, static_hash, outcome.before, trimmed));
    outcome.left = cleaned.left;
  }
  outcome.stored_now = database.stored_pages(trimmed);
  return outcome;
}

}  // namespace mneme
