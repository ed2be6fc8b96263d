#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <map>

#include "mneme/cpu/lower/intrinsics.h"

namespace mneme::ptx {
namespace {

std::vector<ServiceCall> calls;
alignas(256) std::array<uint8_t, 1024 + MNEME_CPU_RESERVED_SHARED_BYTES> shared_memory;

template <typename... Args>
void note(const char* name, Args... args) {
  calls.push_back({name, {static_cast<uint64_t>(args)...}});
}
uint32_t result() { return Jit::instance().next_result; }

void fill(mneme_cpu_services& s) {
  s.barrier = [](mneme_cpu_thread*, uint32_t id, uint32_t threads) { note("barrier", id, threads); };
  s.barrier_arrive = [](mneme_cpu_thread*, uint32_t id, uint32_t threads) { note("barrier_arrive", id, threads); };
  s.barrier_reduce = [](mneme_cpu_thread*, uint32_t id, uint32_t threads, uint32_t reduce, uint32_t p) {
    return note("barrier_reduce", id, threads, reduce, p), result();
  };
  s.warp_sync = [](mneme_cpu_thread*, uint32_t mask) { note("warp_sync", mask); };
  s.shuffle = [](mneme_cpu_thread*, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t c, uint32_t* in_range) {
    note("shuffle", mask, mode, value, lane, c);
    *in_range = result() & 1;
    return result();
  };
  s.vote = [](mneme_cpu_thread*, uint32_t mask, uint32_t mode, uint32_t p) { return note("vote", mask, mode, p), result(); };
  s.match_any = [](mneme_cpu_thread*, uint32_t mask, uint64_t value) { return note("match_any", mask, value), result(); };
  s.match_all = [](mneme_cpu_thread*, uint32_t mask, uint64_t value, uint32_t* p) {
    note("match_all", mask, value);
    *p = result() & 1;
    return result();
  };
  s.reduce = [](mneme_cpu_thread*, uint32_t mask, uint32_t reduce, uint32_t value) {
    return note("reduce", mask, reduce, value), result();
  };
  s.active_mask = [](mneme_cpu_thread*) { return note("active_mask"), result(); };
  s.yield = [](mneme_cpu_thread*) { note("yield"); };
  s.trap = [](mneme_cpu_thread*) { note("trap"); };
  s.exit = [](mneme_cpu_thread*) { note("exit"); };
  s.texture_fetch = [](mneme_cpu_thread*, const mneme_cpu_texture_request* request, uint32_t* components) {
    note("texture_fetch", request->object, request->shape, request->lookup, request->layer, request->integer_coordinates,
         request->coordinates[0]);
    Jit::instance().texture_request = *request;
    for (uint32_t i = 0; i < 4; ++i) components[i] = result() + i;
  };
  s.surface_read = [](mneme_cpu_thread*, const mneme_cpu_surface_request* request, void* to) {
    note("surface_read", request->object, request->shape, request->boundary, request->layer, request->bytes);
    Jit::instance().surface_request = *request;
    for (uint32_t i = 0; i < request->bytes; ++i) static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(result() + i);
  };
  s.surface_write = [](mneme_cpu_thread*, const mneme_cpu_surface_request* request, const void* from) {
    note("surface_write", request->object, request->shape, request->boundary, request->layer, request->bytes);
    Jit::instance().surface_request = *request;
    Jit::instance().surface_data.assign(static_cast<const uint8_t*>(from), static_cast<const uint8_t*>(from) + request->bytes);
  };
  s.clock = [](mneme_cpu_thread*) -> uint64_t { return note("clock"), 0x1122334455667788; };
  s.global_timer = [](mneme_cpu_thread*) -> uint64_t { return note("global_timer"), 0x99aabbccddeeff00; };
}

llvm::orc::LLJIT& engine() {
  static std::unique_ptr<llvm::orc::LLJIT> jit = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
    machine.setCPU("x86-64-v3");
    machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
    return llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
  }();
  return *jit;
}

llvm::Type* type_of(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'v': return llvm::Type::getVoidTy(context);
    case 'h': return llvm::Type::getInt16Ty(context);
    case 'r': return llvm::Type::getInt32Ty(context);
    case 'l': return llvm::Type::getInt64Ty(context);
    case 'f': return llvm::Type::getFloatTy(context);
    case 'd': return llvm::Type::getDoubleTy(context);
    default: return llvm::PointerType::get(context, 0);
  }
}

// define <result> @f(<arguments>, ptr %thread) { return asm "…"(…) }
std::unique_ptr<llvm::Module> module_of_ptx(llvm::LLVMContext& context, const std::string& ptx, const std::string& constraints,
                                            const std::string& signature) {
  auto module = std::make_unique<llvm::Module>("ptx", context);
  std::vector<llvm::Type*> types;
  for (size_t i = 1; i < signature.size(); ++i) types.push_back(type_of(context, signature[i]));
  llvm::Type* result = type_of(context, signature[0]);
  auto* asm_type = llvm::FunctionType::get(result, types, false);
  types.push_back(llvm::PointerType::get(context, 0));
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(result, types, false), llvm::Function::ExternalLinkage, "f", *module);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  arguments.pop_back();
  llvm::Value* value = ir.CreateCall(asm_type, llvm::InlineAsm::get(asm_type, ptx, constraints, true), arguments);
  result->isVoidTy() ? ir.CreateRetVoid() : ir.CreateRet(value);
  return module;
}

Status lower_module(llvm::Module& module) {
  llvm::Function* function = module.getFunction("f");
  MNEME_TRY(cpu::lower_device_instructions(*function, function->getArg(function->arg_size() - 1)));
  std::string why;
  llvm::raw_string_ostream out(why);
  if (llvm::verifyModule(module, &out)) return error(Code::internal, "{}", why);
  return {};
}

void* add_and_find(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context, const std::string& what) {
  static unsigned number = 0;
  if (Status status = lower_module(*module); !status.ok()) {
    ADD_FAILURE() << what << "\n" << status.to_string();
    std::abort();
  }
  std::string name = "f" + std::to_string(number++);
  module->getFunction("f")->removeFnAttr("target-cpu");  // the device's
  module->getFunction("f")->setName(name);
  module->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  module->setDataLayout(engine().getDataLayout());
  llvm::cantFail(engine().addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  return llvm::cantFail(engine().lookup(name)).toPtr<void*>();
}

}  // namespace

Jit::Jit() {
  fill(services_);
  block_.services = &services_;
  block_.shared = shared_memory.data() + MNEME_CPU_RESERVED_SHARED_BYTES;
  block_.grid[0] = 7, block_.grid[1] = 5, block_.grid[2] = 4;
  block_.block[0] = 64, block_.block[1] = 2, block_.block[2] = 1;
  block_.index[0] = 3, block_.index[1] = 2, block_.index[2] = 1;
  block_.dynamic_shared_bytes = 256;
  block_.shared_bytes = 1024;
  block_.worker = 9;
  block_.grid_workspace = reinterpret_cast<void*>(0x1122334455667788);
  thread_.block = &block_;
  thread_.index[0] = 37;
  thread_.lane = 5;
  thread_.warp = 1;
}

Jit& Jit::instance() {
  static Jit jit;
  return jit;
}

std::vector<ServiceCall> Jit::take_calls() { return std::exchange(calls, {}); }

Status Jit::lower(const std::string& ptx, const std::string& constraints, const std::string& signature) {
  llvm::LLVMContext context;
  return lower_module(*module_of_ptx(context, ptx, constraints, signature));
}

void* Jit::compile_ptx(const std::string& ptx, const std::string& constraints, const std::string& signature) {
  static std::map<std::string, void*> known;
  void*& found = known[ptx + "\n" + constraints + "\n" + signature];
  if (found) return found;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = module_of_ptx(*context, ptx, constraints, signature);
  return found = add_and_find(std::move(module), std::move(context), ptx);
}

void* Jit::compile_ir(const std::string& ir) {
  static std::map<std::string, void*> known;
  void*& found = known[ir];
  if (found) return found;
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, *context);
  if (!module) {
    ADD_FAILURE() << ir << "\n" << diagnostic.getMessage().str();
    std::abort();
  }
  return found = add_and_find(std::move(module), std::move(context), ir);
}

}  // namespace mneme::ptx
