#include "mneme/pool/warm_up.h"

#include <malloc.h>

#include <string_view>

#include "mneme/compile/compiler.h"
#include "mneme/compile/target_triple.h"
#include "mneme/ir/module.h"

namespace mneme {
namespace {

// A loop, a branch and arithmetic of both kinds, so that most of what a pipeline does has something to look at. Not the recorded
// kernel: were that one that LLVM crashes on, there would be no pool.
constexpr std::string_view kKernel = R"( void @warm(ptr %p, ptr %q, i32 %n, i32 %block, i32 %tid, i32 %width) {
entry:
  %before = mul i32 %block, %width
  %first = add i32 %before, %tid
  br label %head
head:
  %i = phi i32 [ %first, %entry ], [ %next, %latch ]
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %from = getelementptr float, ptr %p, i32 %i
  %v = load float, ptr %from
  %positive = fcmp ogt float %v, 0.0
  br i1 %positive, label %store, label %latch
store:
  %square = fmul float %v, %v
  %sum = fadd float %square, 1.0
  %to = getelementptr float, ptr %q, i32 %i
  store float %sum, ptr %to
  br label %latch
latch:
  %next = add i32 %i, %width
  br label %head
end:
  ret void
}
)";

Result<Translation> translate_kernel(Compiler& compiler, std::string_view target) {
  const std::string triple = triple_of(target);
  const bool amd = triple == kAmdgcnTriple;
  const std::string text =
      fmt::format("target triple = \"{}\"\ndefine {}{}", triple, amd ? "amdgpu_kernel" : "ptx_kernel", kKernel);
  MNEME_ASSIGN(const ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "a kernel to begin with"));
  CompileOptions options;
  options.kernels = {"warm"};
  return compiler.translate(module, options);
}

}  // namespace

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes: what is mapped for itself is given back at once
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_TOP_PAD, 16 << 20);
}

void warm_llvm_up(DeviceKind kind, const std::string& architecture, std::string_view target) {
  auto compiler = Compiler::create(kind, architecture);
  if (compiler.ok()) [[maybe_unused]]
    auto ignored = translate_kernel(**compiler, target);
}

void warm_assembler_up(Compiler& compiler, std::string_view target) {
  auto translation = translate_kernel(compiler, target);
  if (translation.ok()) [[maybe_unused]]
    auto ignored = compiler.assemble(*translation);
}

}  // namespace mneme
