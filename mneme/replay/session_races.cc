#include "mneme/base/activity.h"
#include "mneme/ir/order_dependence.h"
#include "mneme/replay/access_notes.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/races.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

constexpr uint64_t kPartOfMemory = 4;  // notes take at most one part of this many of the device's

// Who is told apart: threads where none waits for another and all have a number.
Result<NoteOf> note_of(const ir::OrderUse& use, const LaunchShape& shape) {
  constexpr uint64_t kMostComers = UINT32_MAX - 1;
  const uint64_t blocks = shape.grid.volume(), threads = shape.block.volume();
  if (blocks > kMostComers) return error(Code::unsupported, "the launch has more than {} blocks", kMostComers);
  if (!use.waits_in_blocks && blocks * threads <= kMostComers) return NoteOf::thread;
  if (shape.cooperative) return error(Code::unsupported, "the blocks of a cooperative launch may wait for each other");
  return NoteOf::block;
}

}  // namespace

RaceReport Session::find_races(const Configuration& configuration, const std::vector<TypedRange>& ranges) {
  RaceReport report;
  const Status status = look_for_races(configuration, ranges, report);
  if (!status.ok()) report.not_looked = status.message();
  return report;
}

Status Session::look_for_races(const Configuration& configuration, const std::vector<TypedRange>& ranges, RaceReport& report) {
  if (code_->sources() == nullptr) return no_ir(kernel_, "and its accesses cannot be noted");
  if (plan_.copy_size == Bytes()) return error(Code::unsupported, "the launch has no memory at recorded addresses");
  if (run_time_ > kLongestNotedLaunch)
    return error(Code::unsupported, "the launch takes more than {} s, and many times that when it notes its accesses",
                 kLongestNotedLaunch.count());
  MNEME_ASSIGN(KernelCode * source, code_->sources()->find(configuration.ir));
  MNEME_ASSIGN(CompileRequest request, compile_request(configuration, {kernel_, instance_, plan_}, *source));
  MNEME_ASSIGN(const ir::Module* module, source->module());
  const ir::OrderUse use = ir::find_order_use(*module);
  report.may_be_ordered = use.orders_blocks;
  MNEME_ASSIGN(report.between, note_of(use, request.shape));
  const Bytes size = AccessNotes::size(plan_, report.between), most(device_.properties().total_memory.count / kPartOfMemory);
  if (size > most)
    return error(Code::unsupported, "notes of who comes where take {}, and only {} of the device's memory may be theirs", size,
                 most);
  MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
  MNEME_ASSIGN(const AccessNotes notes, AccessNotes::create(device_, *stream_, plan_, report.between));
  request.options.passes = "default<O1>";
  request.options.tracking = AccessNotes::tracking(plan_, report.between);
  CompiledCode code;
  {
    ActivityScope compiling(Activity::compiling);
    MNEME_ASSIGN(code, compiler_->compile(*module, request.options));
  }
  MNEME_ASSIGN(Loaded tracked, load_code(code));
  MNEME_TRY(notes.attach(*tracked.module, *stream_));
  MNEME_ASSIGN([[maybe_unused]] const RestoredRun run, memory_->restore(tracked.symbols));
  {
    ActivityScope tracking(Activity::tracking, kLongestNotedFactor * run_time_);
    MNEME_TRY(stream_->launch(*tracked.kernel, request.shape, memory_->parameters()));
    MNEME_TRY(stream_->synchronize());
  }
  const NotesOfLaunch taken{notes.memory(), Bytes(size.count / 3), report.between, request.shape};
  for (const TypedRange& range : ranges) {
    if (plan_.regions[range.region].placement != Placement::recorded_address) continue;
    MNEME_ASSIGN(std::optional<Race> race, find_race(*stream_, taken, plan_, range));
    if (race) report.races.push_back(std::move(*race));
  }
  return {};
}

}  // namespace mneme
