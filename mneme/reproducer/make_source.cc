#include "mneme/reproducer/make_source.h"

#include "mneme/base/activity.h"
#include "mneme/compile/backend.h"
#include "mneme/ir/access_types.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/recorded_code.h"
#include "mneme/replay/session.h"
#include "mneme/reproducer/masked_pages.h"
#include "mneme/reproducer/source_files.h"
#include "mneme/reproducer/source_text.h"
#include "mneme/reproducer/trim.h"

namespace mneme {
namespace {

// What a folder is made of.
struct Parts {
  KernelRecord kernel;
  RecordedInstance recorded;
  LaunchShape shape;
  SourceCode code;
  CompiledCode compiled;
  ir::AccessTypes accesses;
  TrimmedRecording trimmed;
  MaskedPages masked;
  std::string kept, unmasked;
  std::optional<bool> verified;

  DeviceKind kind() const { return code.vendor->kind; }
};

Status check_kernel(Parts& parts) {
  const auto kind = kind_of_architecture(parts.kernel.arch);
  parts.code.vendor = kind.ok() ? find_source_vendor(*kind) : nullptr;
  if (parts.code.vendor == nullptr)
    return error(Code::unsupported, "the kernel was compiled for {}, and sources are made for GPUs", parts.kernel.arch);
  if (!parts.recorded.prologue.textures.empty())
    return Status(Code::unsupported, "the launch has textures or surfaces, which main.cpp does not make; --program does");
  MNEME_TRY(check_limits(parts.recorded.instance));
  uint64_t bytes = 0;
  for (const Parameter& parameter : parts.kernel.parameters) {
    const uint64_t size = parts.recorded.instance.parameters.size();
    if (parameter.offset > size || parameter.size > size - parameter.offset)
      return error(Code::corrupt, "the parameter '{}' is not within the recorded ones", parameter.name);
    bytes += parameter.size;
  }
  if (bytes == 0 && !parts.recorded.instance.parameters.empty())
    return Status(Code::unsupported,
                  "the recording does not say where the arguments lie, which main.cpp is to say; --program needs it not");
  return {};
}

std::string architecture_for(const SourceRequest& request, const Parts& parts, const Device& device) {
  if (!request.configuration.codegen.target.empty()) return request.configuration.codegen.target;
  return device.properties().kind == parts.kind() ? device.properties().architecture
                                                  : architecture_without_device(parts.kind(), parts.kernel.arch);
}

// Of a kernel with IR.
Result<Translation> translate_ir(const SourceRequest& request, Compiler& compiler, KernelSources& sources, const MemoryPlan& plan,
                                 Parts& parts) {
  MNEME_ASSIGN(KernelCode * source, sources.find(request.configuration.ir));
  MNEME_ASSIGN(CompileRequest asked,
               compile_request(request.configuration, {parts.kernel, parts.recorded.instance, plan}, *source));
  MNEME_ASSIGN(const ir::Module* module, source->module());
  MNEME_ASSIGN(Translation translation, compiler.translate(*module, asked.options));
  MNEME_ASSIGN(parts.code.tools, compiler.tool_commands(*module, asked.options));
  return translation;
}

Result<Translation> translate(const SourceRequest& request, Compiler& compiler, const MemoryPlan& plan, Parts& parts) {
  const Configuration& configuration = request.configuration;
  MNEME_ASSIGN(RecordedCode code, RecordedCode::load(request.database, parts.kernel));
  if (code.sources() != nullptr) {
    MNEME_ASSIGN(const ir::Module* module, code.sources()->recorded().module());
    MNEME_ASSIGN(parts.accesses, ir::access_types(*module, parts.kernel.name));
  }
  MNEME_TRY(check_launch_code(code, parts.kernel, configuration, parts.shape, parts.kind()));
  const ProgramCode* program = code.program(configuration);
  if (program == nullptr) return translate_ir(request, compiler, *code.sources(), plan, parts);
  return translate_program_code(*program, configuration.assembler, driver_options(parts.recorded.instance), parts.kind(),
                                parts.code.architecture);
}

Status compile(const SourceRequest& request, Parts& parts) {
  MNEME_ASSIGN(const MemoryPlan plan,
               plan_memory(parts.kernel, parts.recorded.instance, parts.recorded.prologue, parts.recorded.epilogue));
  MNEME_ASSIGN(parts.shape, request.configuration.launch_shape(parts.recorded.instance));
  MNEME_ASSIGN(parts.recorded.instance.annotations,
               annotations_of(request.configuration, parts.kernel, parts.recorded.instance, plan));
  ActivityScope compiling(Activity::compiling);
  MNEME_ASSIGN(const auto compiler, Compiler::create(parts.kind(), parts.code.architecture));
  MNEME_ASSIGN(const Translation translation, translate(request, *compiler, plan, parts));
  MNEME_ASSIGN(parts.compiled, compiler->assemble(translation));
  SourceCode& code = parts.code;
  code.pipeline = describe_pipeline(request.configuration.passes, parts.kernel);
  code.architecture = translation.architecture;
  code.assembler = parts.compiled.assembler;
  code.assembler_arguments = compiler->assembler_arguments(translation);
  code.translated = translation.code;
  if (code.assembler != kDriverAssembler) code.image = parts.compiled.image.bytes;
  return {};
}

// Whether the code is right, where the device runs it.
Status verify(const SourceRequest& request, Session& session, Parts& parts) {
  const DeviceProperties& device = session.device().properties();
  if (device.kind != parts.kind() || !check_target(request.configuration.codegen, device).ok()) return {};
  const bool whole = request.memory == ProgramMemory::whole;
  const ReplayResult replayed = session.measure(run_once(request.configuration, whole), parts.compiled);
  parts.verified = replayed.verified;
  return replayed.failure;
}

// What cannot be found out leaves all memory in the folder, unless the device of the code itself has failed.
Status trim_memory(const SourceRequest& request, Device& device, Parts& parts) {
  parts.trimmed = untrimmed(parts.recorded);
  const bool runs_code = device.properties().kind == parts.kind();
  auto session = Session::prepare(request.database, request.static_hash, request.dynamic_hash, device);
  if (!session.ok()) {
    parts.kept = parts.unmasked = session.status().message();
    return runs_code ? session.status() : Status();
  }
  MNEME_TRY(verify(request, **session, parts));
  const bool whole = request.memory == ProgramMemory::whole;
  MNEME_ASSIGN(ReducedRecording reduced,
               reduce(**session, request.database, parts.recorded, whole, request.configuration.verdict.mask));
  parts.trimmed = std::move(reduced.trimmed);
  parts.masked = std::move(reduced.masked);
  parts.kept = reduced.kept;
  parts.unmasked = reduced.unmasked;
  return {};
}

std::string memory_words(const Parts& parts) {
  if (!parts.kept.empty()) return fmt::format("{}; nothing is left out: {}", parts.trimmed.memory, parts.kept);
  return fmt::format("{}; {} more that the kernel neither reads nor writes are left out", parts.trimmed.memory,
                     parts.trimmed.left_out);
}

std::string masked_words(const Parts& parts) {
  if (parts.masked.bytes() == Bytes()) return "nothing, as " + parts.unmasked;
  return fmt::format("{} that the kernel writes and does not read hold wrong values before the launch", parts.masked.bytes());
}

Status write(const SourceRequest& request, const Parts& parts) {
  const RecordedInstance& recorded = parts.trimmed.recorded;
  MNEME_ASSIGN(MemoryPlan plan, plan_memory(parts.kernel, recorded.instance, recorded.prologue, recorded.epilogue));
  map_spans(plan, kSourceGranularity);
  MNEME_ASSIGN(const LaunchPieces pieces, pieces_of(parts.kernel, recorded.instance, plan, parts.accesses));
  MNEME_ASSIGN(const auto folder, OutputFolder::create(request.output));
  MNEME_ASSIGN(const SourceMemory memory, write_source_memory(request.database, parts.masked, plan, *folder));
  const SourceCode& code = parts.code;
  const SourceVendor& vendor = *code.vendor;
  for (const SourceFile& file : source_files())
    if (file.kind.empty() || file.kind == to_string(vendor.kind))
      MNEME_TRY(folder->write(std::string(file.name), std::string(file.text)));
  MNEME_TRY(folder->write("launch.h", launch_header({parts.kernel, recorded.instance, parts.shape, pieces, memory,
                                                     memory_words(parts), masked_words(parts)},
                                                    code)));
  MNEME_TRY(folder->write("Makefile", makefile(parts.kernel, code)));
  if (code.tools) {
    MNEME_TRY(folder->write("kernel.ll", code.tools->ir));
    MNEME_TRY(folder->write("kernel.optimised.ll", code.tools->optimised));
    if (!vendor.assembly.empty()) MNEME_TRY(folder->write(std::string(vendor.assembly), code.tools->assembly));
  }
  if (!code.translated.empty()) MNEME_TRY(folder->write(std::string(vendor.translated), code.translated));
  if (!code.image.empty()) MNEME_TRY(folder->write(std::string(vendor.code), code.image));
  return folder->finish();
}

}  // namespace

Result<MadeSource> make_source(const SourceRequest& request, Device& device,
                               const std::function<void(const std::string&)>& progress) {
  const auto tell = [&](const std::string& what) {
    if (progress) progress(what);
  };
  MNEME_TRY(OutputFolder::check(request.output));
  Parts parts;
  MNEME_ASSIGN(parts.kernel, request.database.load_kernel(request.static_hash));
  MNEME_ASSIGN(parts.recorded, request.database.load_instance(request.static_hash, request.dynamic_hash));
  MNEME_TRY(check_kernel(parts));
  parts.code.architecture = architecture_for(request, parts, device);
  tell("compiling " + parts.kernel.demangled);
  MNEME_TRY(compile(request, parts));
  if (request.memory != ProgramMemory::whole) tell("finding the memory that it touches");
  MNEME_TRY(trim_memory(request, device, parts));
  tell("writing " + request.output.string());
  MNEME_TRY(write(request, parts));
  MadeSource made;
  made.architecture = parts.code.architecture;
  made.memory = parts.trimmed.memory;
  made.left_out = parts.trimmed.left_out;
  made.kept = parts.kept;
  made.masked = parts.masked.bytes();
  made.unmasked = parts.unmasked;
  made.translated = parts.code.vendor->translated;
  made.code = parts.code.vendor->code;
  made.has_code = !parts.code.image.empty();
  made.verified = parts.verified;
  if (parts.code.tools) made.fidelity = parts.code.tools->fidelity;
  return made;
}

}  // namespace mneme
