#include <algorithm>
#include <set>

#include "mneme/base/activity.h"
#include "mneme/compile/compile_key.h"
#include "mneme/replay/access_notes.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

constexpr int kRounds = 3;

}  // namespace

Status Session::prepare_mask() {
  MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
  ReplayResult ignored;
  return choose_start({.mask = true}, ignored);
}

Status Session::choose_start(const Verdict& verdict, ReplayResult& result) {
  if (verdict.mask && !memory_->has_masked() && why_no_mask_.ok()) {
    why_no_mask_ = make_mask();
    if (why_no_mask_.code() == Code::device_fault)
      why_no_mask_ = error(Code::device_fault, "looking for it ended in a device fault: {}", why_no_mask_.message());
  }
  masked_ = verdict.mask && memory_->has_masked();
  result.mask = masked_ ? "on" : verdict.mask ? why_no_mask_.message() : "off";
  result.masked_bytes = masked_ ? memory_->masked_bytes() : Bytes();
  if (why_no_mask_.code() != Code::device_fault) return {};
  return error(Code::device_fault,
               R"(mask: {}; a new process can replay the launch without one: --no-mask, {{"verdict": {{"mask": false}}}})",
               why_no_mask());
}

Result<Session::RecordedRun> Session::run_recorded(const Loaded& recorded, OutputMask* mask) {
  MNEME_ASSIGN(RestoredRun restored, restore(recorded, StartState::recorded));
  if (mask) MNEME_TRY(mask->apply());
  MNEME_TRY(stream_->synchronize());
  const auto begin = std::chrono::steady_clock::now();
  MNEME_TRY(launch_and_wait(recorded, recorded_shape(instance_)));
  RecordedRun run{false, std::chrono::steady_clock::now() - begin};
  MNEME_ASSIGN(const CheckedRun checked, std::move(restored).check());
  run.right = checked.equal;
  return run;
}

Status Session::make_mask() {
  if (plan_.regions.empty()) return error(Code::unsupported, "the launch has no memory");
  const MaskCache cache(cache_, mask_key());
  const std::optional<KnownMask> known = cache.read();
  const bool has_globals = std::any_of(plan_.regions.begin(), plan_.regions.end(),
                                       [](const PlannedRegion& region) { return region.placement == Placement::module_symbol; });
  // Nothing is kept of globals, for which the recorded code must run.
  if (known && !has_globals) return take_known_mask(*known);
  MNEME_ASSIGN(const Loaded recorded, recorded_launch());
  MNEME_ASSIGN(RecordedRun plain, run_recorded(recorded, nullptr));
  if (!plain.right) return error(Code::unsupported, "the recorded code and launch do not give the recorded memory here");
  const Status memory = known ? take_known_mask(*known) : mask_memory(recorded, plain.time, cache);
  if (memory.code() == Code::device_fault) return memory;
  MNEME_TRY(mask_globals(recorded));
  return memory_->has_masked() ? Status() : memory;
}

// The build of Mneme and its compiler, the device, the code as it is compiled without notes and with, the launch, and the memory
// before and after it.
Digest Session::mask_key() const {
  const DeviceProperties& device = device_.properties();
  Hasher hasher;
  const auto add = [&](const Digest& digest) { hasher.add(std::as_bytes(std::span(digest.bytes))); };
  hasher.add(std::string_view("mask")).add(build_identity()).add(compiler_->identity());
  hasher.add(static_cast<uint64_t>(device.kind)).add(device.name).add(device.architecture);
  add(kernel_.static_hash);
  add(instance_.dynamic_hash);
  if (has_ir()) add(code_->sources()->recorded().digest());
  if (const ProgramCode* program = code_->program({})) {
    add(digest_of(program->machine_code));
    hasher.add(program->assembly);
    for (const auto& [name, value] : driver_options(instance_)) hasher.add(name).add(value);
  }
  add_to(hasher, compile_options({}, kernel_, plan_));
  add_to(hasher, tracked_options());
  hasher.add(plan_.regions.size());
  for (const PlannedRegion& region : plan_.regions) {
    hasher.add(static_cast<uint64_t>(region.placement)).add(region.prologue.name);
    hasher.add(region.prologue.address.address).add(region.prologue.size.count);
    for (const Region* state : {&region.prologue, &region.epilogue})
      for (const Digest& page : state->pages) add(page);
  }
  for (const MappedSpan& span : plan_.spans) hasher.add(span.address.address).add(span.size.count);
  return hasher.finish();
}

Status Session::take_known_mask(const KnownMask& known) {
  if (!known.none.empty()) return Status(Code::unsupported, known.none);
  MNEME_ASSIGN(const std::unique_ptr<OutputMask> mask,
               OutputMask::decode(device_, *stream_, plan_, memory_->expected(), known.mask));
  return begin_masked(*mask);
}

// The memory of a run that begins masked is made, and kept.
Status Session::begin_masked(OutputMask& mask) {
  MNEME_ASSIGN([[maybe_unused]] const RestoredRun start, memory_->restore({}));
  MNEME_TRY(mask.apply());
  return memory_->keep_masked(mask.blocks(), Bytes(mask.size()));
}

// What is masked is what the notes propose and the recorded code, run from there, makes right.
Status Session::mask_memory(const Loaded& recorded, Nanoseconds time, const MaskCache& cache) {
  if (plan_.copy_size == Bytes()) return error(Code::unsupported, "the launch has no memory at recorded addresses");
  MNEME_ASSIGN(std::unique_ptr<OutputMask> mask, mask_candidates(time));
  for (int round = 0; round < kRounds && mask->size() != 0; ++round) {
    MNEME_ASSIGN(RecordedRun run, run_recorded(recorded, mask.get()));
    if (!run.right) {
      MNEME_TRY(mask->drop_wrong());
      continue;
    }
    MNEME_TRY(begin_masked(*mask));
    if (!cache_) return {};
    MNEME_ASSIGN(ByteVector encoded, mask->encode());
    cache.put({{}, std::move(encoded)});
    return {};
  }
  const std::string none = mask->size() == 0 ? "the kernel writes no byte that it does not also read"
                                             : "the recorded code depends on what it seems not to read";
  cache.put({none, {}});
  return Status(Code::unsupported, none);
}

// Where globals at module symbols lie is another place in each module, so that no notes are taken of them. Those that no
// instruction of the kernel can read are masked as a whole, and then what it leaves alone is not.
Status Session::mask_globals(const Loaded& recorded) {
  std::set<std::string> names;
  for (const auto& [name, address] : recorded.symbols) names.insert(name);
  MNEME_ASSIGN(KernelCode * code, code_->sources()->find({}));
  const Result<PointerUse>& use = code->pointer_use();
  if (!use.ok() || !use->other.empty()) return {};
  std::erase_if(names, [&](const std::string& name) {
    bool written = false, read = false;
    for (const PointerRoot& root : use->roots)
      if (root.kind == PointerRoot::Kind::variable && root.variable == name) written |= root.written, read |= root.read;
    return !written || read;
  });
  if (names.empty()) return {};
  const auto right_when_masked = [&]() -> Result<bool> {
    MNEME_TRY(memory_->mask_symbols(names));
    MNEME_TRY(run_masked(recorded).status());
    MNEME_TRY(memory_->keep_masked_symbols(names, recorded.symbols));
    if (!memory_->has_masked()) return true;
    MNEME_ASSIGN(RestoredRun run, run_masked(recorded));
    MNEME_ASSIGN(const CheckedRun checked, std::move(run).check());
    return checked.equal;
  };
  const Result<bool> right = right_when_masked();
  // What is half done would be put back before every run.
  if (!right.ok() || !*right) memory_->forget_masked_symbols();
  return right.status();
}

Result<RestoredRun> Session::run_masked(const Loaded& recorded) {
  MNEME_ASSIGN(RestoredRun run, restore(recorded, StartState::masked));
  MNEME_TRY(launch_and_wait(recorded, recorded_shape(instance_)));
  return run;
}

CompileOptions Session::tracked_options() const {
  CompileOptions options = compile_options(Configuration(), kernel_, plan_);
  options.passes = "default<O1>";
  options.tracking = AccessNotes::tracking(plan_);
  return options;
}

Result<AccessNotes> Session::note_accesses(Nanoseconds time) {
  if (time > kLongestNotedLaunch)
    return error(Code::unsupported,
                 "the recorded launch takes more than {} s, and takes many times that when it notes its accesses",
                 kLongestNotedLaunch.count());

  auto notes = AccessNotes::create(device_, *stream_, plan_);
  if (!notes.ok()) return notes.status().with_context("notes of the kernel's accesses take twice the recorded memory");
  MNEME_ASSIGN(CompiledCode code, compile(tracked_options()));
  MNEME_ASSIGN(Loaded tracked, load_code(code));
  MNEME_TRY(notes->attach(*tracked.module, *stream_));
  MNEME_ASSIGN([[maybe_unused]] const RestoredRun run, memory_->restore(tracked.symbols));
  ActivityScope tracking(Activity::tracking, kLongestNotedFactor * time);
  MNEME_TRY(stream_->launch(*tracked.kernel, recorded_shape(instance_), memory_->parameters()));
  MNEME_TRY(stream_->synchronize());
  return notes;
}

Result<std::unique_ptr<OutputMask>> Session::mask_candidates(Nanoseconds time) {
  MNEME_ASSIGN(const AccessNotes notes, note_accesses(time));
  return OutputMask::create(device_, *stream_, plan_, memory_->expected(), notes.written(), notes.read());
}

}  // namespace mneme
