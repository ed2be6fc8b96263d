#include "mneme/reproducer/make_program.h"

#include <system_error>

#include "mneme/base/output_file.h"
#include "mneme/exported/program.h"
#include "mneme/ir/access_types.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"
#include "mneme/reproducer/launch_parts.h"
#include "mneme/reproducer/masked_pages.h"
#include "mneme/reproducer/trim.h"

namespace mneme {
namespace {

// What a program is made of.
struct Parts {
  KernelRecord kernel;
  RecordedInstance recorded;
  TrimmedRecording trimmed;
  MaskedPages masked;
  CompiledCode code;
  ProgramDescription description;  // but for what depends on the memory
  ir::AccessTypes accesses;
  bool verified = false;  // of a replay of all memory
};

Status describe(const ProgramRequest& request, const Session& session, const Device& device, Parts& parts) {
  ProgramDescription& d = parts.description;
  d.static_hash = request.static_hash;
  d.dynamic_hash = request.dynamic_hash;
  d.device = device.properties().kind;
  d.architecture =
      request.configuration.codegen.target.empty() ? device.properties().architecture : request.configuration.codegen.target;
  d.mneme_version = MNEME_VERSION;
  d.pipeline = describe_pipeline(request.configuration.passes, parts.kernel);
  d.assembler = parts.code.assembler;
  MNEME_ASSIGN(d.shape, request.configuration.launch_shape(session.instance()));
  d.jit = parts.code.image.jit;
  d.state = parts.code.state;
  return {};
}

// Needs the session's device memory no longer than it takes.
Result<Parts> prepare(const ProgramRequest& request, Device& device, const std::function<void(const std::string&)>& progress) {
  MNEME_ASSIGN(auto session, Session::prepare(request.database, request.static_hash, request.dynamic_hash, device));
  MNEME_TRY(check_limits(session->instance()));
  Parts parts;
  parts.kernel = session->kernel();
  MNEME_ASSIGN(parts.recorded, request.database.load_instance(request.static_hash, request.dynamic_hash));
  if (session->has_ir()) {
    MNEME_ASSIGN(const ir::Module* module, session->code_of({}));
    MNEME_ASSIGN(parts.accesses, ir::access_types(*module, parts.kernel.name));
  }
  progress("compiling and running " + parts.kernel.demangled);
  MNEME_ASSIGN(parts.code, session->compile_ahead(request.configuration));
  const bool whole = request.memory == ProgramMemory::whole;
  const ReplayResult replayed = session->measure(run_once(request.configuration, whole), parts.code);
  if (!replayed.failure.ok()) return replayed.failure;
  parts.verified = replayed.verified;
  MNEME_ASSIGN(parts.recorded.instance.annotations,
               annotations_of(request.configuration, session->kernel(), session->instance(), session->plan()));
  MNEME_TRY(describe(request, *session, device, parts));
  if (!whole) progress("finding the memory that it touches");
  MNEME_ASSIGN(ReducedRecording reduced,
               reduce(*session, request.database, parts.recorded, whole, request.configuration.verdict.mask));
  parts.trimmed = std::move(reduced.trimmed);
  parts.masked = std::move(reduced.masked);
  parts.description.kept = reduced.kept;
  parts.description.unmasked = reduced.unmasked;
  parts.description.masked = parts.masked.bytes();
  return parts;
}

// Names and types of all memory that the program has.
Status name_pieces(Parts& parts) {
  ProgramDescription& d = parts.description;
  const RecordedInstance& recorded = parts.trimmed.recorded;
  d.memory = parts.trimmed.memory;
  d.left_out = parts.trimmed.left_out;
  d.pieces.clear();
  MNEME_ASSIGN(const MemoryPlan plan, plan_memory(parts.kernel, recorded.instance, recorded.prologue, recorded.epilogue));
  MNEME_ASSIGN(const LaunchPieces pieces, pieces_of(parts.kernel, recorded.instance, plan, parts.accesses));
  for (const TypedRange& range : pieces.ranges)
    d.pieces.push_back({range.where, plan.regions[range.region].prologue.address + Bytes(range.offset), range.size, range.type});
  return {};
}

Status write(const ProgramRequest& request, ByteSpan runner, Parts& parts) {
  MNEME_TRY(name_pieces(parts));
  MNEME_ASSIGN(auto output, OutputFile::open(request.output));
  ProgramWriter program(output->file());
  MNEME_TRY(program.put_runner(runner));
  const std::string description = encode_description(parts.description);
  MNEME_TRY(program.put_description(std::as_bytes(std::span(description))));
  MNEME_TRY(program.put_code(parts.code.image.bytes));
  MNEME_TRY(program.put_archive(
      [&](WritableFile& to) { return write_trimmed(request.database, parts.masked, parts.kernel, parts.trimmed.recorded, to); }));
  MNEME_TRY(program.finish());
  MNEME_TRY(output->finish());
  using std::filesystem::perms;
  std::error_code failure;
  std::filesystem::permissions(request.output, perms::owner_exec | perms::group_exec | perms::others_exec,
                               std::filesystem::perm_options::add, failure);
  if (failure) return error(Code::io, "making {} executable: {}", request.output.string(), failure.message());
  return {};
}

Result<bool> run_written(const Path& path, Device& device) {
  MNEME_ASSIGN(auto program, ExportedProgram::open(path));
  MNEME_ASSIGN(const ProgramRun run, program->run(device, 0));
  return run.verified();
}

Result<ByteVector> read_runner(const Path& path) {
  auto runner = FileSystem::posix().read(path);
  if (!runner.ok()) return runner.status().with_context("the runner of exported programs, a part of Mneme's installation");
  return runner;
}

}  // namespace

Result<MadeProgram> make_program(const ProgramRequest& request, Device& device,
                                 const std::function<void(const std::string&)>& progress) {
  const auto tell = [&](const std::string& what) {
    if (progress) progress(what);
  };
  if (is_special_file(request.output))
    return error(Code::invalid_argument, "{} is no regular file, and a program is one", request.output.string());
  MNEME_ASSIGN(const ByteVector runner, read_runner(request.runner));
  MNEME_ASSIGN(Parts parts, prepare(request, device, tell));
  tell("writing " + request.output.string());
  MNEME_TRY(write(request, runner, parts));
  tell("running " + request.output.string());
  auto verified = run_written(request.output, device);
  const bool changed = parts.trimmed.left_out != Bytes() || parts.description.masked != Bytes();
  if (changed && verified.ok() && *verified != parts.verified) {
    parts.trimmed = untrimmed(parts.recorded);
    parts.masked = {};
    parts.description.masked = {};
    parts.description.unmasked = parts.description.kept = "without what the kernel seems not to touch the launch ends otherwise";
    MNEME_TRY(write(request, runner, parts));
    verified = run_written(request.output, device);
  }
  MNEME_TRY(verified.status());
  MNEME_ASSIGN(const Bytes size, FileSystem::posix().size(request.output));
  return MadeProgram{std::move(parts.description), size, *verified};
}

}  // namespace mneme
