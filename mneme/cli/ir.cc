// mneme ir: the code of a recorded launch at any stage of its compilation.
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "mneme/base/activity.h"
#include "mneme/base/output_file.h"
#include "mneme/cli/ir_stages.h"
#include "mneme/cli/options/cache_option.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/compile_only_option.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/compile/backend.h"
#include "mneme/compile/object_cache.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/recorded_code.h"

namespace mneme::cli {
namespace {

constexpr char kRecorded[] = "recorded", kAssembly[] = "asm", kInstructions[] = "sass";
const std::map<std::string, Stage> kStages = {
    {"specialised", Stage::specialised}, {"optimised", Stage::optimised}, {kAssembly, Stage::assembly}};

class IrCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, &configuration_);
    app.add_option(
           "--stage", stage_,
           "recorded: the IR as it is in the database; specialised: as the pass pipeline gets it; optimised: as it leaves "
           "it; asm: PTX, or assembly of an AMD GPU or the CPU; sass: the GPU's instructions, NVIDIA's by nvdisasm")
        ->check(check_stage)
        ->type_name(fmt::format("TEXT:{{{}}}", fmt::join(ir_stages(), ",")))
        ->capture_default_str();
    app.add_option("-o,--output", output_, "the file to write (default: standard output)");
    app.add_flag("--bitcode", bitcode_, "IR as bitcode, not as text");
    device_.declare(app, "what to compile for; auto: the kind that the kernel was compiled for. No device is needed");
    declare_architecture(app, architecture_);
    cache_.declare(app);
    configuration_.declare(app, ConfigurationUse::code);
    guard_.declare(app, GuardedWork::compile);
    app.footer("For a GPU code is made for --target or --arch, else for the architecture that the kernel was recorded with.");
  }

  int run() override {
    if (bitcode_ && (stage_ == kAssembly || stage_ == kInstructions))
      return report_usage("ir", fmt::format("--bitcode is of IR, and the stage '{}' is text", stage_));
    if (bitcode_ && output_.empty() && ::isatty(STDOUT_FILENO))
      return report_usage("ir", "bitcode is not for a terminal: name a file with -o");
    if (!output_.empty())
      if (Status status = check_output_file(output_); !status.ok()) return report(status);
    return guard_.run([&] { return write_stage(); }, [](const Status&) { return Outcome{"", kExitCannotRun}; },
                      OutputKind::content);
  }

 private:
  Outcome write_stage() {
    auto text = stage_ == kRecorded ? recorded() : compiled();
    if (!text.ok()) return {"", report(text.status())};
    auto output = write(*text);
    return output.ok() ? Outcome{std::move(*output), 0} : Outcome{"", report(output.status())};
  }

  Result<std::string> recorded() {
    MNEME_ASSIGN(const RecordedLaunches found, recorded_.kernel());
    MNEME_TRY(check_stage_of(found.kernel.kernel, {}));
    MNEME_ASSIGN(ir::Module module, load_module(found.database, found.kernel.kernel));
    return module.print();
  }

  Result<std::string> compiled() {
    MNEME_ASSIGN(Configuration configuration, configuration_.configuration());
    MNEME_TRY(check_files(configuration, FileSystem::posix()));
    MNEME_ASSIGN(const RecordedLaunches found, recorded_.launches());
    const KernelRecord& kernel = found.kernel.kernel;
    MNEME_TRY(check_stage_of(kernel, configuration));
    if (names_program_code(configuration, kernel)) return without_ir(found, configuration);
    MNEME_ASSIGN(RecordedInstance recorded, found.database.load_instance(kernel.static_hash, found.instances[0]));
    MNEME_ASSIGN(MemoryPlan plan, plan_memory(kernel, recorded.instance, recorded.prologue, recorded.epilogue));
    MNEME_ASSIGN(KernelCode code, KernelCode::load(found.database, kernel));
    if (!configuration.ir.path.empty()) {
      MNEME_ASSIGN(code, code.replaced_by(configuration.ir, FileSystem::posix()));
    }
    MNEME_ASSIGN(CompileRequest request, compile_request(configuration, {kernel, recorded.instance, plan}, code));
    MNEME_ASSIGN(auto compiler, create_compiler(kernel));
    MNEME_ASSIGN(const ir::Module* module, code.module());
    if (stage_ == kInstructions) return disassembled(std::move(compiler), *module, request.options);
    ActivityScope compiling(Activity::compiling);
    return compiler->emit(*module, request.options, kStages.at(stage_));
  }

  // unsupported: the kernel was recorded without what the stage shows, or as-built names code without that.
  Status check_stage_of(const KernelRecord& kernel, const Configuration& configuration) const {
    const bool has_assembly = program_level(kernel) == CodeLevel::ptx;
    if (!names_program_code(configuration, kernel) || stage_ == kInstructions || (stage_ == kAssembly && has_assembly)) return {};
    const std::string what =
        kernel.level == CodeLevel::ir ? fmt::format("{} is the program's own machine code", kAsBuilt) : recorded_as(kernel);
    return error(Code::unsupported, "the stage '{}': {}, without {}; --stage {} shows {}", stage_, what,
                 stage_ == kAssembly ? "PTX" : "LLVM IR", has_assembly ? kAssembly : kInstructions,
                 has_assembly ? "the PTX" : "its instructions");
  }

  // The program's own code, as a replay runs it.
  Result<std::string> without_ir(const RecordedLaunches& found, const Configuration& configuration) const {
    const KernelRecord& kernel = found.kernel.kernel;
    MNEME_TRY(check_code_level(configuration, kernel));
    MNEME_ASSIGN(const CodeFor made_for, code_for(kernel));
    const auto& [kind, architecture] = made_for;
    MNEME_TRY(check_device(kernel, kind));
    MNEME_ASSIGN(const RecordedCode code, RecordedCode::load(found.database, kernel));
    ProgramCode program = *code.program(configuration);
    if (stage_ == kAssembly) program.machine_code.clear();
    const auto instance = std::ranges::find(found.kernel.instances, found.instances[0], &InstanceRecord::dynamic_hash);
    MNEME_ASSIGN(const Translation translation,
                 translate_program_code(program, configuration.assembler, driver_options(*instance), kind, architecture));
    if (stage_ == kAssembly) return translation.code;
    MNEME_ASSIGN(auto compiler, create_compiler(kernel));
    ActivityScope compiling(Activity::compiling);
    MNEME_ASSIGN(const CompiledCode compiled, compiler->assemble(translation));
    return compiler->disassemble(compiled.image);
  }

  // The object is the one that a replay runs, and comes from where a replay has it from.
  Result<std::string> disassembled(std::unique_ptr<Compiler> compiler, const ir::Module& module, const CompileOptions& options) {
    MNEME_ASSIGN(auto cache, cache_.open());
    if (cache) compiler = create_caching_compiler(std::move(compiler), std::move(cache));
    ActivityScope compiling(Activity::compiling);
    MNEME_ASSIGN(CompiledCode code, compiler->compile(module, options));
    return compiler->disassemble(code.image);
  }

  Result<std::unique_ptr<Compiler>> create_compiler(const KernelRecord& kernel) const {
    MNEME_ASSIGN(const CodeFor made_for, code_for(kernel));
    return Compiler::create(made_for.kind, made_for.architecture);
  }

  Result<CodeFor> code_for(const KernelRecord& kernel) const {
    if (!architecture_.empty()) return code_without_device(kernel, architecture_);
    MNEME_ASSIGN(const DeviceKind kind, device_.kind_for_code(kernel.arch));
    return CodeFor{kind, architecture_without_device(kind, kernel.arch)};
  }

  // Returns what is for standard output.
  Result<std::string> write(const std::string& text) const {
    std::string content = text;
    if (bitcode_) {
      MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "the IR to write"));
      const ByteVector bytes = module.bitcode();
      content.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (output_.empty()) return content;
    MNEME_TRY(write_output_file(output_, std::as_bytes(std::span(content))));
    return std::string();
  }

  RecordedOption recorded_{RecordedOption::Launches::one};
  std::string stage_ = "optimised", output_, architecture_;
  bool bitcode_ = false;
  DeviceOption device_;
  CacheOption cache_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration({.name = "ir",
                                 .summary = "write the code of a recorded launch at a stage of its compilation",
                                 .examples = {{"mneme ir db add", "the IR as the pass pipeline leaves it"},
                                              {"mneme ir db add --stage recorded -o add.ll", "as it was recorded, into a file"},
                                              {"mneme ir db add 'default<O1>' --stage asm", "PTX, or the assembly for the CPU"}}},
                                [] { return std::make_unique<IrCommand>(); });

}  // namespace
}  // namespace mneme::cli
