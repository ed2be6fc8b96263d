#include "mneme/exported/program.h"

#include <algorithm>
#include <optional>

#include "mneme/measure/device_lock.h"
#include "mneme/memory/own_state.h"
#include "mneme/memory/prepared_memory.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/memory/recorded_arguments.h"
#include "mneme/verify/buffers.h"

namespace mneme {

// What the runs of a program work with.
struct ExportedProgram::Launch {
  Launch(Device& d, MemoryPlan p) : device(d), plan(std::move(p)) {}

  Device& device;
  const MemoryPlan plan;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<PreparedMemory> memory;
  std::unique_ptr<Module> module;
  Kernel* kernel = nullptr;
  SymbolPlaces symbols;
  std::optional<OwnState> own_state;
  std::vector<ToleratedRange> tolerated;

  Result<RestoredRun> restore() {
    MNEME_TRY(own_state->put_back(*stream));
    return memory->restore(symbols);
  }
};

Result<std::unique_ptr<ExportedProgram>> ExportedProgram::open(const Path& path) {
  MNEME_ASSIGN(auto file, FileSystem::posix().open(path));
  return open(std::move(file), path.string());
}

Result<std::unique_ptr<ExportedProgram>> ExportedProgram::open(std::unique_ptr<ReadableFile> file, const std::string& name) {
  MNEME_ASSIGN(ProgramParts parts, read_program(std::move(file), name));
  std::unique_ptr<ExportedProgram> program(new ExportedProgram);
  MNEME_ASSIGN(program->description_, decode_description(parts.description, name + ": description"));
  program->code_ = {program->description_.device, std::move(parts.code), program->description_.jit};
  // A path below a file, where nothing can be.
  const Path folder = Path(name) / "recording";
  MNEME_ASSIGN(program->files_, ArchiveFiles::open(std::move(parts.file), parts.archive, parts.archive_size, folder));
  MNEME_ASSIGN(Database database, Database::open(folder, *program->files_));
  program->database_ = std::make_unique<Database>(std::move(database));
  MNEME_TRY(program->load());
  return program;
}

Status ExportedProgram::load() {
  const ProgramDescription& d = description_;
  MNEME_ASSIGN(kernel_, database_->load_kernel(d.static_hash));
  MNEME_ASSIGN(recorded_, database_->load_instance(d.static_hash, d.dynamic_hash));
  return {};
}

// Pieces of regions that the plan does not have are left out.
std::vector<TypedRange> ExportedProgram::typed_ranges(const MemoryPlan& plan) const {
  std::vector<TypedRange> ranges;
  for (const NamedPiece& piece : description_.pieces)
    for (size_t i = 0; i < plan.regions.size(); ++i) {
      const MemoryRange region = plan.regions[i].prologue.range();
      if (piece.address < region.address || piece.address >= region.end()) continue;
      const Bytes offset = piece.address - region.address;
      if (piece.size > region.size - offset) continue;
      ranges.push_back({piece.where, "", i, offset.count, piece.size, piece.type});
    }
  return ranges;
}

HeldAddresses ExportedProgram::hold_addresses() const {
  return hold_recorded_addresses(*database_, kernel_.static_hash, {&recorded_.instance.dynamic_hash, 1});
}

Result<ProgramRun> ExportedProgram::run(Device& device, uint32_t timed) {
  MNEME_ASSIGN(MemoryPlan plan, plan_memory(kernel_, recorded_.instance, recorded_.prologue, recorded_.epilogue));
  map_spans(plan, device.properties().allocation_granularity);
  Launch launch(device, std::move(plan));
  MNEME_ASSIGN(launch.tolerated, resolve_tolerances({}, kernel_, recorded_.instance, launch.plan));
  MNEME_ASSIGN(launch.stream, device.create_stream());
  MNEME_ASSIGN(launch.memory,
               PreparedMemory::create(*database_, recorded_.instance, launch.plan, device, *launch.stream, PrepareProgress()));
  MNEME_ASSIGN(launch.module, device.load(code_));
  MNEME_ASSIGN(launch.kernel, launch.module->kernel(kernel_.name));
  MNEME_TRY(expect_recorded_arguments(*launch.kernel, kernel_));
  MNEME_ASSIGN(launch.symbols, launch.memory->places_in(*launch.module));
  std::vector<std::string> own = description_.state;
  std::erase_if(own, [&](const std::string& name) { return launch.symbols.contains(name); });
  MNEME_ASSIGN(launch.own_state, OwnState::keep(device, *launch.stream, *launch.module, own));

  ProgramRun run;
  // Times are of less use where the lock cannot be had, as on a disk that cannot be written; the verdict is not.
  auto exclusive = DeviceLock::acquire(device.properties());
  run.exclusive = exclusive.ok();
  MNEME_ASSIGN(RestoredRun restored, launch.restore());
  MNEME_TRY(launch.stream->launch(*launch.kernel, description_.shape, launch.memory->parameters()));
  MNEME_TRY(launch.stream->synchronize());
  MNEME_TRY(judge_run(launch, std::move(restored), run));
  if (run.verified() && timed != 0) MNEME_TRY(time_launches(launch, timed, run));
  MNEME_TRY(launch.stream->synchronize());
  return run;
}

Status ExportedProgram::judge_run(Launch& launch, RestoredRun&& restored, ProgramRun& run) {
  MNEME_ASSIGN(const CheckedRun checked, std::move(restored).check());
  MNEME_ASSIGN(run.verification, judge(*launch.memory, checked, launch.symbols, launch.tolerated));
  if (run.verified()) return {};
  MNEME_ASSIGN(const RunMemory left, launch.memory->observe(launch.symbols));
  MNEME_ASSIGN(run.differences, find_differences(left, typed_ranges(launch.plan)));
  return {};
}

Status ExportedProgram::time_launches(Launch& launch, uint32_t timed, ProgramRun& run) {
  Measurer measurer(launch.device, *launch.stream);
  std::optional<RestoredRun> restored;
  const auto restore_for_next = [&]() -> Status {
    if (restored) {
      MNEME_TRY(launch.own_state->put_back(*launch.stream));
      return restored->restore_again();
    }
    MNEME_ASSIGN(RestoredRun first, launch.restore());
    restored.emplace(std::move(first));
    return {};
  };
  Execution execution;
  execution.iterations = timed;
  const MeasuredLaunch measured{*launch.kernel,
                                description_.shape,
                                launch.memory->parameters(),
                                restore_for_next,
                                [&] { return launch.memory->read_through(launch.symbols); },
                                {}};
  MNEME_ASSIGN(Measurement measurement, measurer.measure(execution, measured));
  MNEME_TRY(judge_run(launch, std::move(*restored), run));
  if (run.verified()) run.measurement = std::move(measurement);
  return {};
}

}  // namespace mneme
