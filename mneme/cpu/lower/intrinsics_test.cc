#include "mneme/cpu/lower/intrinsics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <limits>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::cpu {
namespace {

ptx::Jit& jit() { return ptx::Jit::instance(); }

// "float", "llvm.nvvm.add.rm.f", "float, float" as a function @f that returns what the intrinsic does.
std::string wrapper(const std::string& result, const std::string& name, const std::vector<std::string>& types,
                    const std::string& last = "") {
  std::string declared, parameters, passed;
  for (size_t i = 0; i < types.size(); ++i) {
    declared += (i ? ", " : "") + types[i];
    parameters += types[i] + " %a" + std::to_string(i) + ", ";
    passed += (i ? ", " : "") + types[i] + " %a" + std::to_string(i);
  }
  if (!last.empty()) {
    declared += ", " + last.substr(0, last.find(' '));
    passed += ", " + last;
  }
  std::string value = result == "void" ? "" : "%r = ";
  std::string back = result == "void" ? "ret void" : "ret " + result + " %r";
  return "declare " + result + " @" + name + "(" + declared + ")\ndefine " + result + " @f(" + parameters + "ptr %thread) {\n  " +
         value + "call " + result + " @" + name + "(" + passed + ")\n  " + back + "\n}\n";
}

TEST(Intrinsics, FloatingPoint) {
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.add.rp.f", {"float", "float"}), 1.0f, 0x1p-40f), 1 + 0x1p-23f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.fma.rm.ftz.f", {"float", "float", "float"}), 1.0f, -0x1p-40f, 1.0f),
            1 - 0x1p-24f);
  EXPECT_EQ(jit().run_ir<double>(wrapper("double", "llvm.nvvm.div.rz.d", {"double", "double"}), 2.0, 3.0), 0x1.5555555555555p-1);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.fmin.nan.f", {"float", "float"}), 2.0f, 3.0f), 2.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.fmax.ftz.xorsign.abs.f", {"float", "float"}), -2.0f, 3.0f), -3.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.saturate.f", {"float"}), 3.0f), 1.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.round.f", {"float"}), 2.5f), 2.0f);
  EXPECT_EQ(jit().run_ir<double>(wrapper("double", "llvm.nvvm.ceil.d", {"double"}), 2.5), 3.0);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.floor.f", {"float"}), -2.5f), -3.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.ceil.ftz.f", {"float"}), 0x1p-140f), 0.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.ceil.f", {"float"}), 0x1p-140f), 1.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.trunc.f", {"float"}), -2.5f), -2.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.sqrt.f", {"float"}), 16.0f), 4.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.ex2.approx.ftz.f32", {"float"}), 3.0f), 8.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.fabs.ftz.f32", {"float"}), -3.0f), 3.0f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.div.full.ftz", {"float", "float"}), 1.0f, 4.0f), 0.25f);
}

TEST(Intrinsics, PackedHalf) {
  const char* ir = R"(
    declare <2 x half> @llvm.nvvm.fma.rn.sat.f16x2(<2 x half>, <2 x half>, <2 x half>)
    define i32 @f(i32 %a, i32 %b, i32 %c, ptr %thread) {
      %x = bitcast i32 %a to <2 x half>
      %y = bitcast i32 %b to <2 x half>
      %z = bitcast i32 %c to <2 x half>
      %r = call <2 x half> @llvm.nvvm.fma.rn.sat.f16x2(<2 x half> %x, <2 x half> %y, <2 x half> %z)
      %i = bitcast <2 x half> %r to i32
      ret i32 %i
    })";
  EXPECT_EQ(jit().run_ir<uint32_t>(ir, 0x38004000u, 0x38003c00u, 0u), 0x34003c00u);
}

TEST(Intrinsics, Conversions) {
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.f2i.rm", {"float"}), -2.5f), static_cast<uint32_t>(-3));
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.d2ui.rz", {"double"}), 1e30), ~0u);
  EXPECT_EQ(jit().run_ir<uint64_t>(wrapper("i64", "llvm.nvvm.f2ll.rn.ftz", {"float"}), 2.5f), 2u);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.ull2f.rp", {"i64"}), ~uint64_t{0}), 0x1p64f);
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.d2f.rm.ftz", {"double"}), -1e-300), 0.0f);
  EXPECT_EQ(jit().run_ir<uint16_t>(wrapper("i16", "llvm.nvvm.f2h.rn", {"float"}), 1.0f), 0x3c00);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.d2i.hi", {"double"}), 1.0), 0x3ff00000u);
  EXPECT_EQ(jit().run_ir<double>(wrapper("double", "llvm.nvvm.lohi.i2d", {"i32", "i32"}), 0u, 0x40000000u), 2.0);
  EXPECT_EQ(jit().run_ir<uint16_t>(wrapper("i16", "llvm.nvvm.ff.to.e4m3x2.rn", {"float", "float"}), 1.0f, 2.0f), 0x3840);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.f2tf32.rna", {"float"}), 1.0f), 0x3f800000u);
}

// The second component of what an intrinsic fetches.
std::string fetching(const std::string& name, const std::string& result, const std::string& arguments) {
  const std::string four = "{ " + result + ", " + result + ", " + result + ", " + result + " }";
  std::string declared;  // the types of "i64 %t, float 1.0"
  for (size_t at = 0; at < arguments.size();
       at = arguments.find(", ", at) == std::string::npos ? arguments.size() : arguments.find(", ", at) + 2)
    declared += (declared.empty() ? "" : ", ") + arguments.substr(at, arguments.find(' ', at) - at);
  return "declare " + four + " @" + name + "(" + declared + ")\ndefine " + result + " @f(i64 %t, ptr %thread) {\n  %all = call " +
         four + " @" + name + "(" + arguments + ")\n  %r = extractvalue " + four + " %all, 1\n  ret " + result + " %r\n}\n";
}

TEST(Intrinsics, Textures) {
  jit().next_result = 100;
  EXPECT_EQ(
      jit().run_ir<uint32_t>(fetching("llvm.nvvm.tex.unified.1d.array.v4s32.s32", "i32", "i64 %t, i32 4, i32 5"), uint64_t{9}),
      101u);
  EXPECT_EQ(jit().texture_request.object, 9u);
  EXPECT_EQ(jit().texture_request.layer, 4u);
  EXPECT_EQ(jit().texture_request.coordinates[0], 5u);
  EXPECT_EQ(jit().texture_request.integer_coordinates, 1u);
  jit().run_ir<float>(fetching("llvm.nvvm.tex.unified.2d.array.grad.v4f32.f32", "float",
                               "i64 %t, i32 4, float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0"),
                      uint64_t{9});
  EXPECT_EQ(jit().texture_request.lookup, uint32_t{MNEME_CPU_LOOKUP_GRADIENTS});
  EXPECT_EQ(jit().texture_request.gradient_x[1], 4);
  EXPECT_EQ(jit().texture_request.gradient_y[0], 5);
  jit().run_ir<float>(
      fetching("llvm.nvvm.tex.unified.cube.level.v4f32.f32", "float", "i64 %t, float 1.0, float 2.0, float 3.0, float 4.0"),
      uint64_t{9});
  EXPECT_EQ(jit().texture_request.shape, uint32_t{MNEME_CPU_IMAGE_CUBE});
  EXPECT_EQ(jit().texture_request.level, 4);
  jit().run_ir<float>(fetching("llvm.nvvm.tld4.unified.g.2d.v4f32.f32", "float", "i64 %t, float 1.0, float 2.0"), uint64_t{9});
  EXPECT_EQ(jit().texture_request.lookup, uint32_t{MNEME_CPU_LOOKUP_GATHER});
  EXPECT_EQ(jit().texture_request.component, 1u);
}

TEST(Intrinsics, Integers) {
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.mulhi.i", {"i32", "i32"}), ~0u, 2u), ~0u);
  EXPECT_EQ(jit().run_ir<uint64_t>(wrapper("i64", "llvm.nvvm.mulhi.ull", {"i64", "i64"}), ~uint64_t{0}, uint64_t{2}), 1u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.mul24.ui", {"i32", "i32"}), 0xff000002u, 3u), 6u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.sad.i", {"i32", "i32", "i32"}), 1u, 4u, 10u), 13u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.prmt", {"i32", "i32", "i32"}), 0x33221100u, 0x77665544u, 0x0246u),
            0x00224466u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.prmt.ecl", {"i32", "i32"}), 0x33221100u, 1u), 0x33221111u);
  EXPECT_EQ(
      jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.fshl.clamp.i32", {"i32", "i32", "i32"}), 0x01234567u, 0x89abcdefu, 8u),
      0x23456789u);
  EXPECT_EQ(
      jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.fshr.clamp.i32", {"i32", "i32", "i32"}), 0x01234567u, 0x89abcdefu, 8u),
      0x6789abcdu);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.prmt.f4e", {"i32", "i32", "i32"}), 0x33221100u, 0x77665544u, 1u),
            0x44332211u);
  for (const auto& [half, sum] : {std::pair("false", 1 * 2 + 1 * 3), {"true", 1 * 4 + 1 * 5}}) {
    const std::string ir =
        std::string("declare i32 @llvm.nvvm.idp2a.s.s(i32, i32, i1 immarg, i32)\n") +
        "define i32 @f(i32 %a, i32 %b, i32 %c, ptr %thread) {\n  %r = call i32 @llvm.nvvm.idp2a.s.s(i32 %a, i32 "
        "%b, i1 " +
        half + ", i32 %c)\n  ret i32 %r\n}\n";
    EXPECT_EQ(jit().run_ir<uint32_t>(ir, 0x00010001u, 0x05040302u, 10u), static_cast<uint32_t>(10 + sum)) << half;
  }
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.flo.u.i32", {"i32"}, "i1 false"), 0x100u), 8u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.flo.u.i32", {"i32"}, "i1 true"), 0x100u), 23u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.idp4a.s.u", {"i32", "i32", "i32"}), ~0u, ~0u, 0u),
            static_cast<uint32_t>(-4 * 255));
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.zext.clamp", {"i32", "i32"}), 0xfffu, 8u), 0xffu);
}

TEST(Intrinsics, ThreadsAndWarps) {
  jit().take_calls();
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.read.ptx.sreg.tid.x", {})), 37u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.read.ptx.sreg.lanemask.lt", {})), 0x1fu);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.read.ptx.sreg.warpsize", {})), 32u);
  EXPECT_EQ(jit().run_ir<uint64_t>(wrapper("i64", "llvm.nvvm.read.ptx.sreg.globaltimer", {})), 0x99aabbccddeeff00u);
  jit().take_calls();
  jit().next_result = 9;
  EXPECT_EQ(
      jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.shfl.sync.idx.i32", {"i32", "i32", "i32", "i32"}), 0xffu, 42u, 3u, 0x1fu),
      9u);
  jit().run_ir<void>(wrapper("void", "llvm.nvvm.barrier.cta.sync.aligned.all", {"i32"}), 2u);
  jit().run_ir<void>(wrapper("void", "llvm.nvvm.barrier.cta.arrive.count", {"i32", "i32"}), 2u, 64u);
  jit().run_ir<void>(wrapper("void", "llvm.nvvm.bar.warp.sync", {"i32"}), 0xfu);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.match.any.sync.i64", {"i32", "i64"}), 0xffu, uint64_t{5}), 9u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.redux.sync.umax", {"i32", "i32"}), 6u, 0xffu), 9u);
  EXPECT_EQ(jit().take_calls(), (std::vector<ptx::ServiceCall>{{"shuffle", {0xff, MNEME_CPU_SHUFFLE_IDX, 42, 3, 0x1f}},
                                                               {"barrier", {2, 0}},
                                                               {"barrier_arrive", {2, 64}},
                                                               {"warp_sync", {0xf}},
                                                               {"match_any", {0xff, 5}},
                                                               {"reduce", {0xff, MNEME_CPU_REDUCE_UMAX, 6}}}));
}

TEST(Intrinsics, CollectivesWithTwoResults) {
  jit().take_calls();
  jit().next_result = 21;
  const auto both = [](const std::string& name, const std::string& types, const std::string& arguments) {
    return "declare { i32, i1 } @" + name + "(" + types + ")\ndefine i32 @f(i32 %a, ptr %thread) {\n  %r = call { i32, i1 } @" +
           name + "(" + arguments +
           ")\n  %v = extractvalue { i32, i1 } %r, 0\n  %p = extractvalue { i32, i1 } %r, 1\n  %s = select i1 %p, i32 %v, i32 0\n"
           "  ret i32 %s\n}\n";
  };
  EXPECT_EQ(
      jit().run_ir<uint32_t>(both("llvm.nvvm.shfl.sync.down.i32p", "i32, i32, i32, i32", "i32 255, i32 %a, i32 3, i32 31"), 42u),
      21u);
  EXPECT_EQ(jit().run_ir<uint32_t>(both("llvm.nvvm.match.all.sync.i32p", "i32, i32", "i32 255, i32 %a"), 42u), 21u);
  EXPECT_EQ(jit().take_calls(),
            (std::vector<ptx::ServiceCall>{{"shuffle", {0xff, MNEME_CPU_SHUFFLE_DOWN, 42, 3, 31}}, {"match_all", {0xff, 42}}}));
  const std::pair<const char*, uint32_t> reductions[] = {{"add", MNEME_CPU_REDUCE_ADD},   {"min", MNEME_CPU_REDUCE_MIN},
                                                         {"umin", MNEME_CPU_REDUCE_UMIN}, {"max", MNEME_CPU_REDUCE_MAX},
                                                         {"and", MNEME_CPU_REDUCE_AND},   {"or", MNEME_CPU_REDUCE_OR},
                                                         {"xor", MNEME_CPU_REDUCE_XOR}};
  for (const auto& [name, reduce] : reductions) {
    jit().run_ir<uint32_t>(wrapper("i32", std::string("llvm.nvvm.redux.sync.") + name, {"i32", "i32"}), 6u, 0xffu);
    EXPECT_EQ(jit().take_calls(), (std::vector<ptx::ServiceCall>{{"reduce", {0xff, reduce, 6}}})) << name;
  }
}

TEST(Intrinsics, MemoryAndAtomics) {
  float cell = 1.0f;
  EXPECT_EQ(jit().run_ir<float>(wrapper("float", "llvm.nvvm.atomic.add.gen.f.sys.f32.p0", {"ptr", "float"}), &cell, 2.0f), 1.0f);
  EXPECT_EQ(cell, 3.0f);
  uint32_t word = 5;
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.atomic.cas.gen.i.cta.i32.p0", {"ptr", "i32", "i32"}), &word, 5u, 8u),
            5u);
  EXPECT_EQ(word, 8u);
  EXPECT_EQ(jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.atomic.dec.gen.i.cta.i32.p0", {"ptr", "i32"}), &word, 7u), 8u);
  EXPECT_EQ(word, 7u);
  jit().run_ir<uint32_t>(wrapper("i32", "llvm.nvvm.atomic.max.gen.i.cta.i32.p0", {"ptr", "i32"}), &word, ~0u);
  EXPECT_EQ(word, 7u) << "of signed numbers";
}

TEST(Intrinsics, ReflectAndTrap) {
  const char* ir = R"(
    @arch = private constant [12 x i8] c"__CUDA_ARCH\00"
    @prec = private constant [16 x i8] c"__CUDA_PREC_DIV\00"
    declare i32 @__nvvm_reflect(ptr)
    define i32 @f(ptr %thread) "target-cpu"="sm_90a" {
      %a = call i32 @__nvvm_reflect(ptr @arch)
      %b = call i32 @__nvvm_reflect(ptr @prec)
      %r = add i32 %a, %b
      ret i32 %r
    })";
  EXPECT_EQ(jit().run_ir<uint32_t>(ir), 900u);
  const char* flush = R"(
    @ftz = private constant [11 x i8] c"__CUDA_FTZ\00"
    declare i32 @__nvvm_reflect(ptr)
    define i32 @f(ptr %thread) {
      %a = call i32 @__nvvm_reflect(ptr @ftz)
      ret i32 %a
    }
    !llvm.module.flags = !{!0}
    !0 = !{i32 4, !"nvvm-reflect-ftz", i32 1})";
  EXPECT_EQ(jit().run_ir<uint32_t>(flush), 1u);
  jit().take_calls();
  jit().run_ir<void>(
      "declare void @llvm.ubsantrap(i8 immarg)\ndefine void @f(ptr %thread) {\n call void @llvm.ubsantrap(i8 7)\n ret void\n}\n");
  EXPECT_EQ(jit().take_calls(), (std::vector<ptx::ServiceCall>{{"trap", {}}}));
  jit().run_ir<void>(
      "declare void @llvm.debugtrap()\ndefine void @f(ptr %thread) {\n call void @llvm.debugtrap()\n ret void\n}\n");
  EXPECT_EQ(jit().take_calls(), (std::vector<ptx::ServiceCall>{{"trap", {}}}));
}

std::string refusal(const std::string& ptx, const std::string& constraints, const std::string& signature) {
  return jit().lower(ptx, constraints, signature).to_string();
}

TEST(Refusals, NameTheInstruction) {
  EXPECT_EQ(refusal("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {$0}, {$1}, {$1}, {$0};", "=f,r", "fr"),
            "unsupported: inline PTX 'mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32': matrix instructions are not available on "
            "the CPU device");
  EXPECT_EQ(refusal("cp.async.commit_group;", "", "v"),
            "unsupported: inline PTX 'cp.async.commit_group': asynchronous copies are not available on the CPU device");
  EXPECT_EQ(refusal("mbarrier.init.shared.b64 [$0], 1;", "r", "vr"),
            "unsupported: inline PTX 'mbarrier.init.shared.b64': mbarrier instructions are not available on the CPU device");
  EXPECT_EQ(refusal("barrier.cluster.arrive;", "", "v"),
            "unsupported: inline PTX 'barrier.cluster.arrive': cluster instructions are not available on the CPU device");
  EXPECT_EQ(refusal("frob.u32 $0;", "=r", "r"),
            "unsupported: inline PTX 'frob.u32': the CPU device does not know this instruction");
  EXPECT_EQ(refusal("add.rx.f32 $0, $1, $1;", "=f,f", "ff"),
            "unsupported: inline PTX 'add.rx.f32': the modifier .rx is not available on the CPU device");
  EXPECT_EQ(refusal("mov.u32 $0, %envreg3;", "=r", "r"),
            "unsupported: inline PTX 'mov.u32': the special register %envreg3 is not available on the CPU device");
  EXPECT_EQ(refusal("mov.u32 $0, table;", "=r", "r"),
            "unsupported: inline PTX 'mov.u32': 'table' is no register; other symbols are not available on the CPU device");
  EXPECT_EQ(refusal("add.u32 $0, $1;", "=r,r", "rr"),
            "unsupported: inline PTX 'add.u32': 2 operands, which is not a form the CPU device knows");
  EXPECT_EQ(refusal("bra elsewhere;", "", "v"),
            "unsupported: inline PTX 'bra': a branch to a label that is not in the same statement");
  EXPECT_EQ(refusal("ret;", "=r", "r"), "unsupported: inline PTX 'ret': returns from a function that has a result");
  EXPECT_EQ(refusal("add.u32 $0, $1, $2", "=r,r", "rr"), "unsupported: inline PTX 'add.u32': there is no operand 2");
  EXPECT_EQ(refusal("add.u32 $0 $1;", "=r,r", "rr"), "invalid_argument: inline PTX 'add.u32 $0 $1': ',' expected");
}

struct Parsed {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  explicit Parsed(const std::string& ir) {
    llvm::SMDiagnostic diagnostic;
    module = llvm::parseAssemblyString(ir, diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str();
  }
  llvm::Instruction& first() { return *module->getFunction("f")->begin()->begin(); }
  Status lower() {
    llvm::Function* f = module->getFunction("f");
    return lower_device_instructions(*f, f->getArg(f->arg_size() - 1));
  }
};

TEST(Refusals, NameTheIntrinsic) {
  EXPECT_EQ(Parsed(wrapper("i32", "llvm.nvvm.txq.width", {"i64"})).lower().to_string(),
            "unsupported: intrinsic 'llvm.nvvm.txq.width': queries of textures are not available on the CPU device");
  EXPECT_EQ(Parsed(wrapper("i32", "llvm.nvvm.suld.1d.i32.trap", {"i64", "i32"})).lower().to_string(),
            "unsupported: intrinsic 'llvm.nvvm.suld.1d.i32.trap': surface intrinsics are not available on the CPU device");
  EXPECT_EQ(
      Parsed(wrapper("void", "llvm.nvvm.barrier.cluster.arrive", {})).lower().to_string(),
      "unsupported: intrinsic 'llvm.nvvm.barrier.cluster.arrive': cluster instructions are not available on the CPU device");
  EXPECT_EQ(Parsed(wrapper("i32", "llvm.nvvm.read.ptx.sreg.pm0", {})).lower().to_string(),
            "unsupported: intrinsic 'llvm.nvvm.read.ptx.sreg.pm0': the special register %pm0 is not available on the CPU device");
}

bool fibers(const std::string& ir) { return needs_fibers(Parsed(ir).first()); }
std::string inline_ptx(const std::string& text) {
  return "define void @f(ptr %thread) {\n call void asm sideeffect \"" + text + "\", \"\"()\n ret void\n}\n";
}

TEST(NeedsFibers, IsAskedOfIntrinsicsAndOfInlinePtx) {
  EXPECT_TRUE(fibers(wrapper("void", "llvm.nvvm.barrier.cta.sync.aligned.all", {"i32"})));
  EXPECT_TRUE(fibers(wrapper("i32", "llvm.nvvm.vote.ballot.sync", {"i32", "i1"})));
  EXPECT_TRUE(fibers(wrapper("void", "llvm.nvvm.exit", {})));
  EXPECT_TRUE(fibers(inline_ptx("{ .reg .pred p; @p bar.sync 0; }")));
  for (const char* waiting : {"shfl.sync.idx.b32 r, r, 0, 31, -1", "vote.sync.ballot.b32 r, p, -1", "match.any.sync.b32 r, r, -1",
                              "redux.sync.add.u32 r, r, -1", "activemask.b32 r", "elect.sync r|p, -1", "nanosleep.u32 20", "exit",
                              "barrier.sync 0", "bar.warp.sync -1"})
    EXPECT_TRUE(fibers(inline_ptx(std::string("{ .reg .b32 r; .reg .pred p; ") + waiting + "; }"))) << waiting;
  EXPECT_TRUE(fibers(inline_ptx("again: bra again;")));
  EXPECT_FALSE(fibers(inline_ptx("bra out; out:")));
  EXPECT_FALSE(fibers(inline_ptx("membar.gl; trap;")));
  EXPECT_FALSE(fibers(wrapper("i32", "llvm.nvvm.read.ptx.sreg.tid.x", {})));
}

TEST(ObservesOtherThreads, VolatileAndAtomicReads) {
  auto observes = [](const std::string& ir) { return observes_other_threads(Parsed(ir).first()); };
  EXPECT_TRUE(observes("define i32 @f(ptr %p) {\n %v = load volatile i32, ptr %p\n ret i32 %v\n}\n"));
  EXPECT_TRUE(observes("define i32 @f(ptr %p) {\n %v = atomicrmw add ptr %p, i32 1 monotonic\n ret i32 %v\n}\n"));
  EXPECT_FALSE(observes("define i32 @f(ptr %p) {\n %v = load i32, ptr %p\n ret i32 %v\n}\n"));
  EXPECT_TRUE(observes("define i32 @f(ptr %p) {\n %v = load atomic i32, ptr %p monotonic, align 4\n ret i32 %v\n}\n"));
  EXPECT_TRUE(
      observes("define i1 @f(ptr %p) {\n %v = cmpxchg ptr %p, i32 1, i32 2 monotonic monotonic\n %b = extractvalue { i32, i1 } "
               "%v, 1\n ret "
               "i1 %b\n}\n"));
  EXPECT_FALSE(observes("define void @f(ptr %p) {\n store volatile i32 1, ptr %p\n ret void\n}\n"));
  EXPECT_FALSE(observes("define void @f(ptr %p) {\n fence seq_cst\n ret void\n}\n"));
  for (const char* how : {"ld.volatile.u32", "ld.relaxed.gpu.u32", "ld.mmio.relaxed.sys.u32", "ld.global.cv.u32"})
    EXPECT_TRUE(observes(inline_ptx(std::string("{ .reg .u32 r; ") + how + " r, [64]; }"))) << how;
  EXPECT_TRUE(observes(inline_ptx("{ .reg .u32 r; atom.add.u32 r, [64], 1; }")));
  EXPECT_FALSE(observes(inline_ptx("red.add.u32 [64], 1;")));
  EXPECT_TRUE(observes(inline_ptx("{ .reg .u32 r; ld.acquire.gpu.u32 r, [64]; }")));
  EXPECT_FALSE(observes(inline_ptx("{ .reg .u32 r; ld.global.nc.u32 r, [64]; }")));
  EXPECT_TRUE(observes(wrapper("i32", "llvm.nvvm.atomic.cas.gen.i.cta.i32.p0", {"ptr", "i32", "i32"})));
}

TEST(IsDeviceInstruction, KnowsWhatLoweringChanges) {
  EXPECT_TRUE(is_device_instruction(Parsed(wrapper("i32", "llvm.nvvm.read.ptx.sreg.tid.x", {})).first()));
  EXPECT_TRUE(is_device_instruction(Parsed(inline_ptx("membar.gl;")).first()));
  EXPECT_FALSE(is_device_instruction(Parsed(wrapper("float", "llvm.sqrt.f32", {"float"})).first()));
}

}  // namespace
}  // namespace mneme::cpu
