#include "mneme/cpu/lower/compiler.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <optional>

#include "mneme/compile/compilation.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/stages.h"
#include "mneme/cpu/lower/device_functions.h"
#include "mneme/cpu/lower/dialect.h"
#include "mneme/cpu/lower/gpu_arithmetic.h"
#include "mneme/cpu/lower/host_code.h"
#include "mneme/cpu/lower/identity.h"
#include "mneme/cpu/lower/instruction_count.h"
#include "mneme/cpu/lower/kernel_entry.h"
#include "mneme/cpu/lower/linker.h"
#include "mneme/cpu/lower/lockstep.h"
#include "mneme/cpu/lower/options.h"
#include "mneme/cpu/lower/refusal.h"
#include "mneme/cpu/lower/shared_memory.h"
#include "mneme/cpu/lower/source_lines.h"
#include "mneme/cpu/run/image.h"
#include "mneme/ir/access.h"

namespace mneme::cpu {
namespace {

// Cleans up after the lowering; what the user's pipeline did to the kernel stays.
constexpr char kHostPipeline[] = "default<O2>";

std::string device_architecture(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.hasFnAttribute("target-cpu")) return function.getFnAttribute("target-cpu").getValueAsString().str();
  return dialect_of(module).default_architecture;
}

// The bytes that bound globals begin with, kept before their uses become addresses.
std::vector<GlobalEntry> keep_initializers(llvm::Module& module, const std::vector<GlobalBinding>& bindings) {
  std::vector<GlobalEntry> entries;
  for (const GlobalBinding& binding : bindings) {
    llvm::GlobalVariable* variable = module.getNamedGlobal(binding.name);
    if (!variable || !is_state(*variable)) continue;
    // Its address stays a number until live(): a pipeline may free what a pointer of that number is.
    GlobalEntry entry{binding.name, nullptr, 0, nullptr, true};
    auto* number = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), binding.address.address);
    entry.address = number;
    entry.size = module.getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue();
    bool zeros = !variable->hasInitializer() || variable->getInitializer()->isNullValue() ||
                 llvm::isa<llvm::UndefValue>(variable->getInitializer());
    if (!zeros) {
      entry.initializer = new llvm::GlobalVariable(module, variable->getValueType(), true, llvm::GlobalValue::ExternalLinkage,
                                                   variable->getInitializer(), "__mneme_initial_" + binding.name);
      entry.initializer->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
    entries.push_back(entry);
  }
  return entries;
}

// A weak reference to what is nowhere is null. But clang's blockIdx and its like are weak objects that nobody defines and whose
// address is passed on, as `this`, though nothing reads there: they get one that is not null.
void define_weak(llvm::GlobalVariable& variable) {
  llvm::StringRef name = variable.getName();
  if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim") {
    variable.setInitializer(llvm::Constant::getNullValue(variable.getValueType()));
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  } else {
    variable.replaceAllUsesWith(llvm::Constant::getNullValue(variable.getType()));
  }
}

// State that no binding placed lies in the image itself.
Status add_own_globals(llvm::Module& module, std::vector<GlobalEntry>& entries) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!is_state(variable)) continue;
    if (variable.isDeclaration()) {
      if (variable.use_empty()) continue;
      if (variable.hasExternalWeakLinkage()) {
        define_weak(variable);
        continue;
      }
      return error(Code::unsupported, "variable '{}' is nowhere defined", variable.getName().str());
    }
    uint64_t size = module.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
    entries.push_back({variable.getName().str(), &variable, size, nullptr, false});
  }
  return {};
}

// What the pipeline has added.
void add_new_globals(llvm::Module& module, const std::vector<std::string>& state, std::vector<GlobalEntry>& entries) {
  for (const std::string& name : state) {
    if (llvm::any_of(entries, [&](const GlobalEntry& entry) { return entry.name == name; })) continue;
    llvm::GlobalVariable* variable = module.getNamedGlobal(name);
    uint64_t size = module.getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue();
    entries.push_back({name, variable, size, nullptr, false});
  }
}

Status verify(const llvm::Module& module) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(module, &stream)) return error(Code::internal, "the lowered code is not valid LLVM IR: {}", words);
  return {};
}

// What the CPU device adds to the stages of a compilation: the globals that the image describes, and, behind the user's pipeline,
// the lowering to the host.
class CpuCompilation final : public Compilation {
 public:
  CpuCompilation(const CompileOptions& options, std::optional<Stage> last, const std::string& architecture)
      : Compilation(options, last), architecture_(architecture) {}

 private:
  Status check(const llvm::Module& module) override {
    const Dialect* dialect = find_dialect(module.getTargetTriple());
    if (!dialect)
      return error(Code::unsupported,
                   "lowering to the CPU: the module is for '{}'; only code for NVIDIA and AMD GPUs can be lowered",
                   module.getTargetTriple().str());
    if (dialect->check) MNEME_TRY(dialect->check(module));
    if (!last()) MNEME_TRY(check_processor(options().codegen));
    return refuse_own_names(module);
  }

  Result<CodeTarget> target(const llvm::Module& module) override {
    std::string device = device_architecture(module);
    MNEME_ASSIGN(auto machine, create_target_machine(module, {device, "", codegen_level(options())}));
    return CodeTarget{std::move(device), std::move(machine)};
  }

  Status before_binding(llvm::Module& module) override {
    if (const Dialect& dialect = dialect_of(module); dialect.complete) dialect.complete(module);
    globals_ = keep_initializers(module, options().bindings);
    return {};
  }

  Status after_tracking(llvm::Module& module) override { return add_own_globals(module, globals_); }

  Status generate(llvm::Module& module, llvm::TargetMachine&, const PassPlugins& plugins) override {
    state() = expose_state(module, AllowedNames::any);
    add_new_globals(module, state(), globals_);
    MNEME_ASSIGN(auto machine, make_host_module(module));
    const auto type = last() ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    MNEME_ASSIGN(const ByteVector emitted, stages().time("codegen", [&] { return emit_file(module, *machine, type, plugins); }));
    code().assign(reinterpret_cast<const char*>(emitted.data()), emitted.size());
    return {};
  }

  Result<std::unique_ptr<llvm::TargetMachine>> make_host_module(llvm::Module& module) {
    std::vector<KernelEntry> entries;
    MNEME_TRY(stages().time("lower", [&] { return lower(module, entries); }));
    export_globals(module, live(globals_, module));
    keep_names_apart(module);
    add_bfloat_conversions(module);
    MNEME_ASSIGN(auto machine, become_host_module(module, architecture_, options().codegen));
    MNEME_TRY(verify(module));
    MNEME_TRY(stages().time("host_optimise", [&] { return run_pipeline(module, *machine, kHostPipeline); }));
    for (const KernelEntry& entry : entries)
      export_kernel(module, entry, entry.mode == RunMode::fibers ? stack_bytes(*entry.entry) : 0);
    return machine;
  }

  // What the image defines is its own: a variable of the application of the same name, of which a program has a shadow on the
  // host, must not take its place, nor a device function that of one of the C library's that code generation calls by name.
  static void keep_names_apart(llvm::Module& module) {
    for (llvm::GlobalObject& object : module.global_objects()) {
      if (object.isDeclaration() || object.getName().starts_with("llvm.") || object.getName().starts_with("__mneme_")) continue;
      if (!object.hasLocalLinkage()) object.setVisibility(llvm::GlobalValue::HiddenVisibility);
      if (object.hasName() && !object.getName().starts_with("_Z")) object.setName(object.getName() + ".device");
    }
  }

  // The user's pipeline may have removed a variable, and a pointer that only stood in what a variable began with.
  static std::vector<GlobalEntry> live(const std::vector<GlobalEntry>& globals, llvm::Module& module) {
    std::vector<GlobalEntry> result;
    for (GlobalEntry entry : globals) {
      if (!entry.bound) entry.address = module.getNamedGlobal(entry.name);
      if (entry.bound) {
        entry.address = llvm::ConstantExpr::getIntToPtr(entry.address, llvm::PointerType::get(module.getContext(), 0));
        entry.initializer = module.getNamedGlobal("__mneme_initial_" + entry.name);
      }
      if (entry.address) result.push_back(entry);
    }
    return result;
  }

  static Status lower(llvm::Module& module, std::vector<KernelEntry>& entries) {
    const Dialect& dialect = dialect_of(module);
    if (dialect.begin) MNEME_TRY(dialect.begin(module));
    MNEME_TRY(refuse_host_code(module));
    drop_device_assumptions(module);
    std::vector<std::pair<std::string, KernelEntry>> kernels;
    for (llvm::Function& function : module)
      if (is_kernel(function) && !function.isDeclaration()) {
        KernelEntry entry;
        entry.name = function.getName().str();
        entry.parameters = kernel_parameters(function);
        entry.max_threads = dialect.launch_bound(function);
        entry.warp_size = dialect.warp_size(function);
        kernels.push_back({entry.name, entry});
      }
    mark_lockstep(module, dialect);
    llvm::StringMap<llvm::Function*> bodies = add_thread_parameter(module);
    guard_calls_by_pointer(module);
    std::vector<llvm::Function*> functions;
    for (auto& [name, entry] : kernels) {
      entry.body = bodies.at(name);
      entry.mode = kernel_needs_fibers(*entry.body) ? RunMode::fibers : RunMode::loop;
      functions.push_back(entry.body);
    }
    SharedLayout shared = lay_out_shared_memory(module, functions);
    for (auto& [name, entry] : kernels) {
      entry.static_shared_bytes = shared.static_bytes[entry.body];
      entry.shared_alignment = shared.alignments[entry.body];
    }
    if (dialect.fit_pointers) {
      MNEME_TRY(dialect.fit_pointers(module));
    } else {
      wrap_shared_indices(module);
    }
    lower_shared_memory(module, shared);
    MNEME_TRY(lower_device_code(module));
    for (auto& [name, entry] : kernels) {
      make_entry(entry);
      entries.push_back(entry);
    }
    // The descriptions name the entries only after the clean-up, which must not remove them before.
    for (KernelEntry& entry : entries)
      entry.entry->setLinkage(llvm::GlobalValue::ExternalLinkage),
          entry.entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return {};
  }

  const std::string& architecture_;
  std::vector<GlobalEntry> globals_;
};

class CpuCompiler final : public Compiler {
 public:
  explicit CpuCompiler(std::string architecture) : architecture_(std::move(architecture)) {}

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    CpuCompilation compilation(options, std::nullopt, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return compilation.take(architecture_);
  }

  Result<CompiledCode> assemble(const Translation& translation) override {
    const ByteSpan object = std::as_bytes(std::span(translation.code));
    MNEME_TRY(check_object(object));
    Stages stages;
    auto image = stages.time("link", [&] {
      auto linked = link_shared_object(object);
      if (linked.ok()) keep_source_lines(*linked);
      return linked;
    });
    if (!image.ok()) return image.status();
    CompiledCode code = compiled_code(translation, {DeviceKind::cpu, std::move(*image)}, "lld");
    if (translation.kernels.size() == 1) code.facts.instructions = count_instructions(object, architecture_);
    for (StageTime& time : stages.take()) code.times.push_back(std::move(time));
    return code;
  }

  std::string identity() const override { return compiler_identity(architecture_); }

  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    CpuCompilation compilation(options, stage, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return std::move(compilation.code());
  }

  Result<std::string> disassemble(const CodeImage&) const override {
    return error(Code::unsupported, "the CPU device's objects are not disassembled: its assembly is what they are made of");
  }

 private:
  static Status run(const ir::Module& module, const CompileOptions& options, CpuCompilation& compilation) {
    MNEME_TRY(check_options(options));
    return run_llvm_on_copy(module, [&](llvm::Module& copy) { return compilation.run(copy); });
  }

  std::string architecture_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture) {
  initialize_llvm();
  if (architecture != kArchitecture)
    return error(Code::unsupported, "the CPU device's code is made for {}, not for '{}'", kArchitecture, architecture);
  return std::unique_ptr<Compiler>(new CpuCompiler(architecture));
}

}  // namespace mneme::cpu
