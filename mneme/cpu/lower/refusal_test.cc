#include "mneme/cpu/lower/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "mneme/compile/compiler.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/cpu/lower/host_code.h"
#include "mneme/ir/access.h"

namespace mneme::cpu {
namespace {

using testing::HasSubstr;

constexpr std::string_view kKernel = R"(
define ptx_kernel void @k(ptr %out) {
  %old = load i32, ptr %out
  %new = add i32 %old, 1
  store i32 %new, ptr %out
  ret void
}
)";

// Without passes, which could remove what nothing uses.
Result<CompiledCode> compile(std::string_view body, CompileOptions options = {}) {
  const std::string text = "target triple = \"nvptx64-nvidia-cuda\"\n" + std::string(body) + std::string(kKernel);
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "test.ll"));
  MNEME_ASSIGN(auto compiler, Compiler::create(DeviceKind::cpu, "x86-64-v3"));
  options.passes = "function(no-op-function)";
  return compiler->compile(module, options);
}

std::string refusal(std::string_view body) { return compile(body).status().to_string(); }

std::string words(std::string_view what) {
  return fmt::format("unsupported: {}: the CPU device runs kernels, and no other code that IR brings to the host", what);
}

TEST(Refusal, OfWhatALoaderRuns) {
  const std::string function = "define void @f() noinline optnone { ret void }\n";
  EXPECT_EQ(
      refusal(function + "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr "
                         "@f, ptr null }]"),
      words("variable 'llvm.global_ctors' has a list of functions that a host's program runs by itself"));
  EXPECT_EQ(
      refusal(function + "@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr "
                         "@f, ptr null }]"),
      words("variable 'llvm.global_dtors' has a list of functions that a host's program runs by itself"));
  EXPECT_EQ(refusal("define ptr @r() { ret ptr null }\n@i = ifunc void (), ptr @r"),
            words("function 'i' has a resolver that a host's loader runs"));
  EXPECT_EQ(refusal("module asm \".init_array\""), words("module 'test.ll' has assembly of its own"));
  EXPECT_EQ(refusal("@x = thread_local global i32 1"), words("variable 'x' has storage of the host's threads"));
}

TEST(Refusal, OfSections) {
  for (const char* name : {".init_array", ".preinit_array", ".fini_array", ".ctors", ".text", ".init", ".deplibs", ".data"}) {
    EXPECT_EQ(refusal(fmt::format("@x = global i64 4096, section \"{}\"", name)),
              words(fmt::format("variable 'x' has the section '{}'", name)));
    EXPECT_EQ(refusal(fmt::format("define void @f() section \"{}\" {{ ret void }}", name)),
              words(fmt::format("function 'f' has the section '{}'", name)));
  }
  EXPECT_EQ(refusal("@x = global i64 1 #0\nattributes #0 = { \"data-section\"=\".init_array\" }"),
            words("variable 'x' has the attribute 'data-section'"));
  EXPECT_EQ(refusal("define void @f() \"implicit-section-name\"=\".init_array\" { ret void }"),
            words("function 'f' has the section '.init_array'"));
  EXPECT_EQ(refusal("define void @f() !pcsections !0 { ret void }\n!0 = !{!\".init_array\", !1}\n!1 = !{i64 4096}"),
            words("function 'f' has metadata '!pcsections'"));
  EXPECT_EQ(refusal("define void @f(ptr %p) {\n  store i32 1, ptr %p, !pcsections !0\n  ret void\n}\n!0 = !{!\".init_array\", "
                    "!1}\n!1 = !{i64 4096}"),
            words("function 'f' has metadata '!pcsections'"));
  EXPECT_EQ(refusal("@x = private constant [2 x i8] c\"a\\00\", section \"llvm.metadata\""), "ok");
}

TEST(Refusal, OfCodeOfTheHostsOwn) {
  EXPECT_EQ(refusal("define void @f() prologue i8 204 { ret void }"),
            words("function 'f' has prologue data, which a host would run"));
  EXPECT_EQ(refusal("define void @f() prefix i64 -1 { ret void }"),
            words("function 'f' has prefix data, which lies among a host's code"));
  EXPECT_EQ(refusal("define void @f() gc \"shadow-stack\" { ret void }"),
            words("function 'f' has the garbage collector 'shadow-stack'"));
  EXPECT_EQ(refusal("define void @f() \"probe-stack\"=\"abort\" { ret void }"),
            words("function 'f' has the attribute 'probe-stack'"));
  EXPECT_EQ(refusal("define void @f() \"fentry-call\"=\"true\" { ret void }"),
            words("function 'f' has the attribute 'fentry-call'"));
  EXPECT_THAT(refusal("define void @f() { call void asm sideeffect \"syscall\", \"\"() ret void }"), HasSubstr("'syscall'"));
  EXPECT_EQ(refusal("define ptr @f() noinline {\n  %r = load ptr, ptr addrspace(257) null\n  ret ptr %r\n}"),
            words("function 'f' has address space 257, which no GPU has"));
}

TEST(Refusal, OfWhatOnlyAHostsCodeHas) {
  EXPECT_EQ(refusal("declare i32 @p(...)\ndefine void @f() personality ptr @p { ret void }"),
            words("function 'f' has a personality function"));
  EXPECT_EQ(refusal("define void @f() partition \"part\" { ret void }"), words("function 'f' has the partition 'part'"));
  EXPECT_EQ(refusal("@x = global i32 1, !exclude !0\n!0 = !{}"), words("variable 'x' has metadata '!exclude'"));
  EXPECT_EQ(refusal("define void @f() {\n  callbr void asm sideeffect \"\", \"!i\"() to label %a [label %b]\na:\n  ret void\nb:\n"
                    "  ret void\n}"),
            words("function 'f' has assembly that branches"));
}

TEST(Refusal, OfIntrinsicsOfTheHost) {
  const auto intrinsic = [](const char* name) {
    return fmt::format("unsupported: intrinsic '{}' is for a host's code, which the CPU device does not take from IR", name);
  };
  EXPECT_EQ(
      refusal("declare ptr @llvm.returnaddress(i32)\ndefine ptr @f() noinline { %r = call ptr @llvm.returnaddress(i32 0) ret "
              "ptr %r }"),
      intrinsic("llvm.returnaddress"));
  EXPECT_EQ(
      refusal("declare i64 @llvm.x86.rdfsbase.64()\ndefine i64 @f() noinline { %r = call i64 @llvm.x86.rdfsbase.64() ret i64 "
              "%r }"),
      intrinsic("llvm.x86.rdfsbase.64"));
  EXPECT_EQ(
      refusal("declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)\ndefine void @f() noinline { call void "
              "(i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 0, i32 15, ptr inttoptr (i64 4096 to ptr), i32 "
              "0) ret void }"),
      intrinsic("llvm.experimental.patchpoint.void"));
}

TEST(Refusal, OfSymbolsOfTheProcess) {
  EXPECT_EQ(refusal("declare i32 @system(ptr)\ndefine void @f() { %r = call i32 @system(ptr null) ret void }"),
            "unsupported: function 'system', which 'f' calls, is nowhere defined, and the CPU device does not have it");
  EXPECT_EQ(refusal("declare i32 @system(ptr)\n@a = addrspace(1) global ptr @system"),
            "unsupported: function 'system', whose address is taken, is nowhere defined, and the CPU device does not have it");
  EXPECT_EQ(refusal("@environ = external addrspace(2) global ptr\ndefine ptr @f() noinline {\n  %r = load ptr, ptr addrspace(2) "
                    "@environ\n  ret ptr %r\n}"),
            "unsupported: variable 'environ' is nowhere defined, and the CPU device does not look for it on the host");
}

// Of which LLVM makes calls of functions that no library has which an image is loaded with.
TEST(Refusal, OfOperationsThatOnlyALibraryHas) {
  EXPECT_EQ(
      refusal("define ptx_kernel void @f(ptr %p, ptr %q) {\n  %r = load atomic i64, ptr %p seq_cst, align 4\n"
              "  store i64 %r, ptr %q\n  ret void\n}"),
      "unsupported: the code calls '__atomic_load': an atomic operation that has no instruction, by its size or alignment, is "
      "not supported on the CPU device");
  EXPECT_EQ(refusal("declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)\n"
                    "define ptx_kernel void @f(ptr %p, ptr %q, i64 %n) {\n  call void "
                    "@llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 %n, i32 4)\n  ret "
                    "void\n}"),
            "unsupported: the code calls '__llvm_memcpy_element_unordered_atomic_4': an intrinsic as "
            "llvm.memcpy.element.unordered.atomic is not supported on the CPU device");
  EXPECT_EQ(refusal("declare i32 @__atomic_load_4(ptr, i32)\n"
                    "define i32 @f(ptr %p) noinline {\n  %r = call i32 @__atomic_load_4(ptr %p, i32 5)\n  ret i32 %r\n}"),
            "unsupported: function '__atomic_load_4', which 'f' calls, is nowhere defined, and the CPU device does not have it");
}

TEST(Refusal, OfNamesThatStandForKernels) {
  EXPECT_EQ(refusal("@__mneme_cpu_kernel_k = global i64 1"),
            "unsupported: '__mneme_cpu_kernel_k' has a name that only Mneme gives: give it another");
  EXPECT_EQ(refusal("define void @__mneme_cpu_image() { ret void }"),
            "unsupported: '__mneme_cpu_image' has a name that only Mneme gives: give it another");
}

TEST(Refusal, OfTheirNamesAsAnAssemblerHasThem) {
  EXPECT_THAT(refusal("@\"\\01__mneme_cpu_kernel_k\" = global i64 1"),
              HasSubstr("has a name that only Mneme gives: give it another"));
}

// IR of a host, as an object that no check of IR has seen.
std::string object_refusal(std::string_view text) {
  initialize_llvm();
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "host.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  auto machine = become_host_module(ir::llvm_module(*module), "x86-64-v3", {});
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  auto object = emit_file(ir::llvm_module(*module), **machine, llvm::CodeGenFileType::ObjectFile, PassPlugins());
  EXPECT_TRUE(object.ok()) << object.status().to_string();
  return check_object(*object).to_string();
}

TEST(ObjectCheck, TakesCodeAndData) {
  EXPECT_EQ(
      object_refusal("@a = hidden global i32 1\n@b = hidden global i32 0\n@c = hidden constant [2 x double] [double 1.0, double "
                     "2.0]\ndefine hidden double @f(ptr %p) { %v = load double, ptr @c ret double %v }"),
      "ok");
}

TEST(ObjectCheck, RefusesWhatALoaderActsOn) {
  const auto section = [](const char* name, const char* type) {
    return fmt::format(
        "unsupported: the code has a section '{}' of type {}: the CPU device loads kernels, and no other code that IR brings to "
        "the "
        "host",
        name, type);
  };
  const auto symbol = [](const char* name) {
    return fmt::format("unsupported: the code has a symbol '{}' that a host's loader acts on by itself", name);
  };
  EXPECT_EQ(object_refusal("@x = hidden thread_local global i32 1"), section(".tdata", "0x1"));
  EXPECT_EQ(object_refusal("@x = hidden thread_local global i32 1, section \".data.x\""), section(".data.x", "0x1"));
  EXPECT_EQ(object_refusal("@x = external thread_local global i32\n"
                           "define hidden i32 @f() { %v = load i32, ptr @x ret i32 %v }"),
            symbol("x"));
  EXPECT_EQ(object_refusal("define hidden ptr @r() { ret ptr null }\n@i = hidden ifunc void (), ptr @r"), symbol("i"));
  EXPECT_EQ(
      object_refusal("@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @f, ptr "
                     "null }]\ndefine hidden void @f() { ret void }"),
      section(".ctors", "0x1"));
  EXPECT_EQ(object_refusal("@x = hidden global ptr null, section \".init_array\""), section(".init_array", "0xe"));
  EXPECT_THAT(object_refusal("@x = hidden global i32 1, section \".note.x\""),
              HasSubstr("has a section '.note.x' of type 0x7: "));
  EXPECT_EQ(object_refusal("@x = hidden global i32 1, section \".database\""), section(".database", "0x1"));
  EXPECT_EQ(object_refusal("define hidden void @f() section \".data.code\" { ret void }"), section(".data.code", "0x1"));
}

TEST(ObjectCheck, RefusesNamesThatMeanSomethingToAHost) {
  EXPECT_EQ(object_refusal("define hidden void @_init() { ret void }"),
            "unsupported: the code exports '_init', which a host's loader may take for its own");
  EXPECT_EQ(
      object_refusal("declare void @_Unwind_Resume(ptr)\ndefine hidden void @f(ptr %p) { call void @_Unwind_Resume(ptr %p) ret "
                     "void }"),
      "unsupported: the code uses '_Unwind_Resume' of the host, which is no function that code for the CPU device calls");
}

TEST(Refusal, IsNotOfNotesOfAccesses) {
  CompileOptions options;
  options.tracking = {.ranges = {{DevicePtr(0x7a0000000000), 1_MiB, Bytes(0)}}, .plane = 1_MiB};
  EXPECT_EQ(compile("", options).status().to_string(), "ok");
}

// As in the IR of a file that was compiled with the plugin.
TEST(Refusal, IsNotOfSegments) {
  EXPECT_EQ(refusal("@__mneme_segment_k = addrspace(1) constant [2 x i8] c\"ab\", align 16"), "ok");
  EXPECT_EQ(refusal("@__mneme_segment_k = addrspace(1) externally_initialized global [2 x i8] c\"ab\", align 16"), "ok");
}

// A linker runs what has these names, and takes in what this names; to the device they are names as others.
TEST(Refusal, IsNotNeededOfNamesThatAreGivenAnother) {
  EXPECT_TRUE(compile("define void @_init() noinline { ret void }\ndefine void @_fini() noinline { ret void }").ok());
  auto code = compile("!llvm.dependent-libraries = !{!0}\n!0 = !{!\"/nowhere/evil.so\"}");
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const std::string bytes(reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size());
  EXPECT_EQ(bytes.find("evil"), std::string::npos);
}

// The object is looked at by itself: what stands between it and the IR may not be known to refuse_host_code().
class ObjectRefusal : public testing::Test {
 protected:
  void SetUp() override {
    const std::string text = "target triple = \"nvptx64-nvidia-cuda\"\n" + std::string(kKernel);
    auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
    ASSERT_TRUE(module.ok());
    compiler_ = std::move(*Compiler::create(DeviceKind::cpu, "x86-64-v3"));
    translation_ = std::move(*compiler_->translate(*module, {}));
  }
  // The object with one name in the place of another, which is as long.
  std::string refusal(std::string_view name, std::string_view other) {
    Translation changed = translation_;
    size_t at = changed.code.find(std::string(name) + '\0');
    EXPECT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = changed.code.find(std::string(name) + '\0', at))
      changed.code.replace(at, name.size(), other);
    return compiler_->assemble(changed).status().to_string();
  }
  std::unique_ptr<Compiler> compiler_;
  Translation translation_;
};

TEST_F(ObjectRefusal, OfSectionsThatALoaderRuns) {
  ASSERT_TRUE(compiler_->assemble(translation_).ok());
  EXPECT_EQ(
      refusal(".data.rel.ro", ".fini_array1"),
      "unsupported: the code has a section '.fini_array1' of type 0x1: the CPU device loads kernels, and no other code that "
      "IR brings to the host");
}

TEST_F(ObjectRefusal, OfSymbolsThatAHostsLoaderTakesForItsOwn) {
  EXPECT_EQ(refusal("__mneme_cpu_image", "environ_of_a_host"),
            "unsupported: the code exports 'environ_of_a_host', which a host's loader may take for its own");
}

TEST_F(ObjectRefusal, OfFunctionsOfTheProcess) {
  const std::string text =
      "target triple = \"nvptx64-nvidia-cuda\"\ndeclare double @llvm.sin.f64(double)\n"
      "define ptx_kernel void @k(ptr %out, double %x) {\n  %s = call double @llvm.sin.f64(double %x)\n  store double %s, ptr "
      "%out\n"
      "  ret void\n}\n";
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  ASSERT_TRUE(module.ok());
  translation_ = std::move(*compiler_->translate(*module, {}));
  ASSERT_TRUE(compiler_->assemble(translation_).ok()) << "sin is LLVM's own call";
  EXPECT_EQ(refusal("sin", "dup"),
            "unsupported: the code uses 'dup' of the host, which is no function that code for the CPU device calls");
}

TEST_F(ObjectRefusal, OfWhatIsNoObject) {
  translation_.code.resize(100);
  EXPECT_THAT(compiler_->assemble(translation_).status().to_string(),
              HasSubstr("corrupt: the host's code is no object that can be linked: "));
}

}  // namespace
}  // namespace mneme::cpu
