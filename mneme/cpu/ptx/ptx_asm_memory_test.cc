#include <gtest/gtest.h>

#include <array>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::ptx {
namespace {

Jit& jit() { return Jit::instance(); }
using Calls = std::vector<ServiceCall>;

TEST(PtxMemory, LoadsAndStoresOfEveryWidth) {
  alignas(16) std::array<uint32_t, 8> memory = {1, 2, 3, 0x80000000, 5, 6, 7, 8};
  EXPECT_EQ(jit().run<uint32_t>("ld.global.nc.L1::no_allocate.u32 $0, [$1+8];", "=r,l", memory.data()), 3u);
  EXPECT_EQ(jit().run<uint64_t>("ld.volatile.s32 $0, [$1 + 12];", "=l,l", memory.data()), 0xffffffff80000000u);
  EXPECT_EQ(jit().run<uint32_t>("ld.acquire.gpu.global.u8 $0, [$1+15];", "=r,l", memory.data()), 0x80u);
  EXPECT_EQ(jit().run<uint32_t>("ld.s8 $0, [$1+15];", "=r,l", memory.data()), 0xffffff80u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .u32 a,b,c; ld.v4.u32 {a,b,c,$0}, [$1+16]; add.u32 $0, $0, a; }", "=r,l", memory.data()),
            13u);
  EXPECT_EQ(jit().run<uint64_t>("{ .reg .b128 q; .reg .b64 a; ld.b128 q, [$1]; mov.b128 {a, $0}, q; }", "=l,l", memory.data()),
            0x8000000000000003u);
  jit().run<void>("st.release.sys.global.v2.u32 [$0], {$1, $2};", "l,r,r,~{memory}", memory.data(), 10u, 11u);
  EXPECT_EQ(memory[0], 10u);
  EXPECT_EQ(memory[1], 11u);
  jit().run<void>("st.global.wt.b8 [$0], $1;", "l,r", memory.data(), 0xabcdu);
  EXPECT_EQ(memory[0], 0xcdu);
  jit().run<void>("st.f64 [$0+8], $1;", "l,d", memory.data(), 1.0);
  EXPECT_EQ(memory[3], 0x3ff00000u);
}

TEST(PtxMemory, AddressesOfSeveralParts) {
  const std::array<uint32_t, 4> memory = {1, 2, 0x80000003, 4};
  EXPECT_EQ(jit().run<uint32_t>("ld.u32 $0, [$1-4];", "=r,l", memory.data() + 1), 1u);
  EXPECT_EQ(jit().run<uint32_t>("ld.u32 $0, [$1+$2];", "=r,l,l", memory.data(), uint64_t{4}), 2u);
  EXPECT_EQ(jit().run<uint64_t>("{ .reg .s64 a; ld.v2.s32 {a, $0}, [$1]; }", "=l,l", memory.data() + 1), 0xffffffff80000003u);
}

TEST(PtxMemory, PredicatedAccessTouchesNothing) {
  const char* text = "{ .reg .pred p; setp.ne.u32 p, $2, 0; mov.u32 $0, 99; @p ld.u32 $0, [$1]; }";
  uint32_t value = 7;
  EXPECT_EQ(jit().run<uint32_t>(text, "=r,l,r", &value, 1u), 7u);
  EXPECT_EQ(jit().run<uint32_t>(text, "=r,l,r", static_cast<uint32_t*>(nullptr), 0u), 99u);
}

TEST(PtxMemory, SharedAddressesAreTheLow32Bits) {
  auto* shared = reinterpret_cast<uint32_t*>(jit().shared());
  shared[3] = 1234;
  auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(shared));
  EXPECT_EQ(jit().run<uint32_t>("ld.shared.u32 $0, [$1+12];", "=r,r", address), 1234u);
  const char* through =
      "{ .reg .u64 a; .reg .u32 b; cvta.to.shared.u64 a, $1; cvt.u32.u64 b, a; st.shared.u32 [b+4], 77; cvta.shared.u64 a, a; "
      "ld.u32 $0, [a+4]; }";
  EXPECT_EQ(jit().run<uint32_t>(through, "=r,l", shared), 77u);
  const char* of_the_block = "{ .reg .u64 a; cvt.u64.u32 a, $1; cvta.shared::cta.u64 a, a; ld.u32 $0, [a+4]; }";
  EXPECT_EQ(jit().run<uint32_t>(of_the_block, "=r,r", address), 77u);
}

TEST(PtxMemory, ReservedSharedMemoryLiesBeforeTheBlocksOwn) {
  const char* text =
      "{ .reg .u32 a; .reg .u64 g; mov.u32 a, %reserved_smem_offset_1; cvt.u64.u32 g, a; cvta.shared.u64 g, g; st.u32 [g], 5; "
      "mov.u64 $0, "
      "g; }";
  EXPECT_EQ(jit().run<uint8_t*>(text, "=l"), jit().shared() - MNEME_CPU_RESERVED_SHARED_BYTES / 2);
  EXPECT_EQ(jit().shared()[-static_cast<int>(MNEME_CPU_RESERVED_SHARED_BYTES) / 2], 5u);
  auto read = [](const char* part) {
    return jit().run<uint32_t>(std::string("mov.u32 $0, %reserved_smem_offset_") + part + ";", "=r");
  };
  const auto own = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(jit().shared()));
  EXPECT_EQ(read("cap"), MNEME_CPU_RESERVED_SHARED_BYTES);
  EXPECT_EQ(read("begin"), own - MNEME_CPU_RESERVED_SHARED_BYTES);
  EXPECT_EQ(read("0"), own - MNEME_CPU_RESERVED_SHARED_BYTES);
  EXPECT_EQ(read("1"), own - MNEME_CPU_RESERVED_SHARED_BYTES / 2);
  EXPECT_EQ(read("end"), own);
}

TEST(PtxMemory, WhichSpaceAnAddressIsIn) {
  auto is = [](const char* space, const void* address) {
    return jit().run<uint32_t>(std::string("{ .reg .pred p; isspacep.") + space + " p, $1; selp.u32 $0, 1, 0, p; }", "=r,l",
                               address);
  };
  static int global;
  int local = 0;
  EXPECT_EQ(is("shared", jit().shared() + 1023), 1u);
  EXPECT_EQ(is("shared", jit().shared() + 1024), 0u);
  EXPECT_EQ(is("global", &global), 1u);
  EXPECT_EQ(is("global", jit().shared()), 0u);
  EXPECT_EQ(is("local", &local), 1u);
  EXPECT_EQ(is("global", &local), 0u);
  EXPECT_EQ(is("const", &global), 0u);
}

TEST(PtxMemory, FencesAndHints) {
  jit().run<void>("membar.gl; fence.acq_rel.cluster; fence.proxy.alias; fence.proxy.async;", "~{memory}");
  int value = 0;
  jit().run<void>("prefetch.global.L2 [$0]; discard.global.L2 [$0], 128; applypriority.global.L2::evict_normal [$0], 128;", "l",
                  &value);
  EXPECT_EQ(jit().run<uint64_t>("createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"), 0u);
  EXPECT_EQ(value, 0);
}

TEST(PtxAtomic, EveryOperation) {
  uint32_t cell = 0;
  auto atom = [&](const char* operation, uint32_t before, uint32_t operand) {
    cell = before;
    EXPECT_EQ(jit().run<uint32_t>(std::string("atom.") + operation + " $0, [$1], $2;", "=r,l,r,~{memory}", &cell, operand),
              before);
    return cell;
  };
  EXPECT_EQ(atom("add.u32", 5, 3), 8u);
  EXPECT_EQ(atom("acquire.gpu.global.exch.b32", 5, 3), 3u);
  EXPECT_EQ(atom("inc.u32", 5, 5), 0u);
  EXPECT_EQ(atom("inc.u32", 4, 5), 5u);
  EXPECT_EQ(atom("dec.u32", 0, 5), 5u);
  EXPECT_EQ(atom("dec.u32", 9, 5), 5u);
  EXPECT_EQ(atom("min.s32", 5, ~0u), ~0u);
  EXPECT_EQ(atom("min.u32", 5, ~0u), 5u);
  EXPECT_EQ(atom("cta.max.s32", 5, ~0u), 5u);
  EXPECT_EQ(atom("max.u32", 5, ~0u), ~0u);
  EXPECT_EQ(atom("and.b32", 6, 3), 2u);
  EXPECT_EQ(atom("or.b32", 6, 3), 7u);
  EXPECT_EQ(atom("xor.b32", 6, 3), 5u);
  EXPECT_EQ(atom("add.noftz.f16x2", 0x3c004000, 0x3c003c00), 0x40004200u);
  EXPECT_EQ(atom("max.bf16x2", 0x3f804000, 0x40003f80), 0x40004000u);
  EXPECT_EQ(atom("min.bf16x2", 0x3f804000, 0x40003f80), 0x3f803f80u);
  jit().run<void>("red.relaxed.sys.global.add.u32 [$0], $1;", "l,r,~{memory}", &cell, 1u);
  EXPECT_EQ(cell, 0x3f803f81u);
}

TEST(PtxAtomic, FloatsCompareAndSwapAndVectors) {
  float single = 1.5f;
  EXPECT_EQ(jit().run<float>("atom.global.add.f32 $0, [$1], $2;", "=f,l,f,~{memory}", &single, 2.0f), 1.5f);
  EXPECT_EQ(single, 3.5f);
  double wide = 1.5;
  jit().run<void>("red.add.f64 [$0], $1;", "l,d,~{memory}", &wide, 2.0);
  EXPECT_EQ(wide, 3.5);
  uint64_t cell = 7;
  const char* cas = "atom.acq_rel.sys.cas.b64 $0, [$1], $2, $3;";
  EXPECT_EQ(jit().run<uint64_t>(cas, "=l,l,l,l,~{memory}", &cell, uint64_t{6}, uint64_t{9}), 7u);
  EXPECT_EQ(cell, 7u);
  EXPECT_EQ(jit().run<uint64_t>(cas, "=l,l,l,l,~{memory}", &cell, uint64_t{7}, uint64_t{9}), 7u);
  EXPECT_EQ(cell, 9u);
  uint16_t half = 5;
  EXPECT_EQ(jit().run<uint16_t>("atom.cas.b16 $0, [$1], $2, $3;", "=h,l,h,h,~{memory}", &half, uint16_t{5}, uint16_t{6}), 5u);
  EXPECT_EQ(half, 6u);
  alignas(8) std::array<float, 2> vector = {1, 2};
  EXPECT_EQ(jit().run<float>("{ .reg .f32 a; atom.global.v2.f32.add {a, $0}, [$1], {$2, $2}; }", "=f,l,f,~{memory}",
                             vector.data(), 10.0f),
            2.0f);
  EXPECT_EQ(vector, (std::array<float, 2>{11, 12}));
  alignas(8) std::array<uint32_t, 3> halves = {0x3c003c00, 0x40004000, 7};
  jit().run<void>("red.global.v2.f16x2.add.noftz [$0], {$1, $2};", "l,r,r,~{memory}", halves.data(), 0x3c003c00u, 0x3c000000u);
  EXPECT_EQ(halves, (std::array<uint32_t, 3>{0x40004000, 0x42004000, 7}));
}

TEST(PtxThread, Barriers) {
  jit().take_calls();
  jit().run<void>("bar.sync 0; barrier.sync.aligned $0, $1; bar.arrive 3, 64; bar.warp.sync 0xff;", "r,r", 2u, 96u);
  EXPECT_EQ(jit().take_calls(),
            (Calls{{"barrier", {0, 0}}, {"barrier", {2, 96}}, {"barrier_arrive", {3, 64}}, {"warp_sync", {0xff}}}));
  jit().next_result = 5;
  const char* reduce = "{ .reg .pred p; setp.ne.u32 p, $1, 0; barrier.cta.red.popc.aligned.u32 $0, 1, !p; }";
  EXPECT_EQ(jit().run<uint32_t>(reduce, "=r,r", 0u), 5u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"barrier_reduce", {1, 0, MNEME_CPU_REDUCE_POPC, 1}}}));
  const char* all = "{ .reg .pred p; bar.red.and.pred p, 1, 32, 1; selp.u32 $0, 1, 0, p; }";
  EXPECT_EQ(jit().run<uint32_t>(all, "=r"), 1u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"barrier_reduce", {1, 32, MNEME_CPU_REDUCE_AND, 1}}}));
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; bar.red.or.pred p, 1, 0; selp.u32 $0, 1, 0, p; }", "=r"), 1u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"barrier_reduce", {1, 0, MNEME_CPU_REDUCE_OR, 0}}}));
}

TEST(PtxThread, WarpCollectives) {
  jit().take_calls();
  jit().next_result = 21;
  const char* shuffle = "{ .reg .pred p; .reg .b32 d; shfl.sync.down.b32 d|p, $1, 2, 0x1f, $2; selp.b32 $0, d, 0, p; }";
  EXPECT_EQ(jit().run<uint32_t>(shuffle, "=r,r,r", 77u, 0xffffu), 21u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"shuffle", {0xffff, MNEME_CPU_SHUFFLE_DOWN, 77, 2, 0x1f}}}));
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; setp.eq.u32 p, 0, 1; vote.sync.ballot.b32 $0, p, -1; }", "=r"), 21u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; vote.sync.any.pred p, 1, 3; selp.u32 $0, 4, 5, p; }", "=r"), 4u);
  EXPECT_EQ(jit().run<uint32_t>("match.any.sync.b64 $0, $1, 0xf;", "=r,l", uint64_t{1} << 40), 21u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; match.all.sync.b32 $0|p, $1, 0xf; @!p mov.u32 $0, 0; }", "=r,r", 6u), 21u);
  EXPECT_EQ(jit().run<uint32_t>("redux.sync.max.s32 $0, $1, 0xff;", "=r,r", 9u), 21u);
  EXPECT_EQ(jit().run<uint32_t>("activemask.b32 $0;", "=r"), 21u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"vote", {~0u, MNEME_CPU_VOTE_BALLOT, 0}},
                                       {"vote", {3, MNEME_CPU_VOTE_ANY, 1}},
                                       {"match_any", {0xf, uint64_t{1} << 40}},
                                       {"match_all", {0xf, 6}},
                                       {"reduce", {0xff, MNEME_CPU_REDUCE_MAX, 9}},
                                       {"active_mask", {}}}));
  jit().next_result = 0xf0;
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; elect.sync $0|p, -1; @p add.u32 $0, $0, 100; }", "=r"), 4u);
  jit().next_result = 0xe0;  // the lowest lane is this one, 5
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; elect.sync $0|p, -1; @p add.u32 $0, $0, 100; }", "=r"), 105u);
}

TEST(PtxThread, EveryKindOfCollectiveIsItsOwn) {
  jit().take_calls();
  jit().next_result = 3;
  for (const char* mode : {"up", "down", "bfly", "idx"})
    jit().run<uint32_t>(std::string("shfl.sync.") + mode + ".b32 $0, $1, 2, 0x1f, -1;", "=r,r", 77u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"shuffle", {~0u, MNEME_CPU_SHUFFLE_UP, 77, 2, 0x1f}},
                                       {"shuffle", {~0u, MNEME_CPU_SHUFFLE_DOWN, 77, 2, 0x1f}},
                                       {"shuffle", {~0u, MNEME_CPU_SHUFFLE_BFLY, 77, 2, 0x1f}},
                                       {"shuffle", {~0u, MNEME_CPU_SHUFFLE_IDX, 77, 2, 0x1f}}}));
  for (const char* mode : {"all", "any", "uni"})
    jit().run<uint32_t>(std::string("{ .reg .pred p; vote.sync.") + mode + ".pred p, 1, 7; selp.u32 $0, 1, 0, p; }", "=r");
  EXPECT_EQ(
      jit().take_calls(),
      (Calls{{"vote", {7, MNEME_CPU_VOTE_ALL, 1}}, {"vote", {7, MNEME_CPU_VOTE_ANY, 1}}, {"vote", {7, MNEME_CPU_VOTE_UNI, 1}}}));
  const std::pair<const char*, uint32_t> reductions[] = {{"add.u32", MNEME_CPU_REDUCE_ADD},  {"min.s32", MNEME_CPU_REDUCE_MIN},
                                                         {"min.u32", MNEME_CPU_REDUCE_UMIN}, {"max.s32", MNEME_CPU_REDUCE_MAX},
                                                         {"max.u32", MNEME_CPU_REDUCE_UMAX}, {"and.b32", MNEME_CPU_REDUCE_AND},
                                                         {"or.b32", MNEME_CPU_REDUCE_OR},    {"xor.b32", MNEME_CPU_REDUCE_XOR}};
  for (const auto& [name, reduce] : reductions) {
    jit().run<uint32_t>(std::string("redux.sync.") + name + " $0, $1, 7;", "=r,r", 9u);
    EXPECT_EQ(jit().take_calls(), (Calls{{"reduce", {7, reduce, 9}}})) << name;
  }
}

// Those of before sm_70 are of the lanes that come together.
TEST(PtxThread, CollectivesWithoutAMask) {
  jit().take_calls();
  jit().next_result = 0xf5;
  jit().run<uint32_t>("shfl.down.b32 $0, $1, 2, 0x1f;", "=r,r", 77u);
  jit().run<uint32_t>("{ .reg .pred p; vote.all.pred p, 1; selp.u32 $0, 1, 0, p; }", "=r");
  EXPECT_EQ(jit().take_calls(), (Calls{{"active_mask", {}},
                                       {"shuffle", {0xf5, MNEME_CPU_SHUFFLE_DOWN, 77, 2, 0x1f}},
                                       {"active_mask", {}},
                                       {"vote", {0xf5, MNEME_CPU_VOTE_ALL, 1}}}));
}

TEST(PtxThread, ReturnsAndExits) {
  const char* ir = R"(
    define void @f(i32 %a, ptr %p, ptr %thread) {
      call void asm sideeffect "{ .reg .pred p; setp.eq.u32 p, $0, 1; @p ret; }", "r"(i32 %a)
      store i32 9, ptr %p
      ret void
    })";
  uint32_t value = 0;
  jit().run_ir<void>(ir, 1u, &value);
  EXPECT_EQ(value, 0u);
  jit().run_ir<void>(ir, 2u, &value);
  EXPECT_EQ(value, 9u);
  jit().take_calls();
  jit().run<void>("exit;", "");
  jit().run<void>("brkpt;", "");
  EXPECT_EQ(jit().take_calls(), (Calls{{"exit", {}}, {"trap", {}}}));
}

TEST(PtxThread, BranchesWithoutAPredicate) {
  EXPECT_EQ(jit().run<uint32_t>("mov.u32 $0, 1; bra out; mov.u32 $0, 2; out:", "=r"), 1u);
  EXPECT_EQ(jit().run<uint32_t>("{ mov.u32 $0, 1; { bra out; } mov.u32 $0, 2; out: }", "=r"), 1u) << "out of an inner scope";
}

TEST(PtxThread, EndsAndWaits) {
  jit().take_calls();
  jit().run<void>("{ .reg .pred p; setp.eq.u32 p, $0, 1; @p trap; nanosleep.u32 100; griddepcontrol.wait; }", "r", 0u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"yield", {}}}));
}

TEST(PtxThread, LoopsYieldOnlyWhenTheyGoBack) {
  jit().take_calls();
  const char* loop = "{ .reg .pred p; mov.u32 $0, 0; again: add.u32 $0, $0, 1; setp.lt.u32 p, $0, $1; @p bra again; }";
  EXPECT_EQ(jit().run<uint32_t>(loop, "=r,r", 3u), 3u);
  EXPECT_EQ(jit().take_calls(), (Calls{{"yield", {}}, {"yield", {}}}));
  const char* forward =
      "{ .reg .pred p; setp.eq.u32 p, $1, 0; mov.u32 $0, 1; @p bra out; mov.u32 $0, 2; bra out; mov.u32 $0, 3; out: }";
  EXPECT_EQ(jit().run<uint32_t>(forward, "=r,r", 0u), 1u);
  EXPECT_EQ(jit().run<uint32_t>(forward, "=r,r", 5u), 2u);
  EXPECT_TRUE(jit().take_calls().empty());
}

TEST(PtxThread, SpecialRegisters) {
  auto read = [](const char* name) { return jit().run<uint32_t>(std::string("mov.u32 $0, %") + name + ";", "=r"); };
  EXPECT_EQ(read("tid.x"), 37u);
  EXPECT_EQ(read("tid.w"), 0u);
  EXPECT_EQ(read("ntid.x"), 64u);
  EXPECT_EQ(read("ctaid.y"), 2u);
  EXPECT_EQ(read("nctaid.z"), 4u);
  EXPECT_EQ(read("laneid"), 5u);
  EXPECT_EQ(read("warpid"), 1u);
  EXPECT_EQ(read("nwarpid"), 4u);
  EXPECT_EQ(read("smid"), 9u);
  EXPECT_EQ(read("lanemask_eq"), 0x20u);
  EXPECT_EQ(read("lanemask_lt"), 0x1fu);
  EXPECT_EQ(read("lanemask_le"), 0x3fu);
  EXPECT_EQ(read("lanemask_ge"), 0xffffffe0u);
  EXPECT_EQ(read("lanemask_gt"), 0xffffffc0u);
  EXPECT_EQ(read("dynamic_smem_size"), 256u);
  EXPECT_EQ(read("total_smem_size"), 1024u);
  EXPECT_EQ(read("clock_hi"), 0x11223344u);
  EXPECT_EQ(read("globaltimer_lo"), 0xddeeff00u);
  EXPECT_EQ(read("clusterid.x"), 3u);
  EXPECT_EQ(read("envreg1"), 0x11223344u);  // the workspace of a cooperative grid
  EXPECT_EQ(read("envreg2"), 0x55667788u);
  EXPECT_EQ(read("cluster_nctaid.x"), 1u);
  EXPECT_EQ(read("cluster_ctaid.x"), 0u);
  EXPECT_EQ(read("cluster_nctarank"), 1u);
  EXPECT_EQ(read("cluster_ctarank"), 0u);
  EXPECT_EQ(read("nclusterid.x"), 7u);
  EXPECT_EQ(read("ntid.y"), 2u);
  EXPECT_EQ(read("ntid.w"), 1u);
  EXPECT_EQ(read("nctaid.w"), 1u);
  EXPECT_EQ(read("ctaid.w"), 0u);
  EXPECT_EQ(read("clock"), 0x55667788u);
  EXPECT_EQ(read("globaltimer_hi"), 0x99aabbccu);
  EXPECT_EQ(jit().run<uint64_t>("mov.u64 $0, %clock64;", "=l"), 0x1122334455667788u);
}

TEST(PtxRegisters, TiedOutputsStructsAndWideRegisters) {
  EXPECT_EQ(jit().run<uint32_t>("add.u32 $0, $0, $1;", "=r,r,0", 3u, 4u), 7u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .pred p; setp.gt.u32 p, $1, 2; @p add.u32 $0, $0, 10; }", "=r,r,0", 3u, 4u), 14u);
  const char* ir = R"(
    define i32 @f(i32 %a, i32 %b, ptr %thread) {
      %r = call { i32, i32 } asm "add.u32 $0, $2, $3; sub.u32 $1, $2, $3;", "=r,=r,r,r"(i32 %a, i32 %b)
      %x = extractvalue { i32, i32 } %r, 0
      %y = extractvalue { i32, i32 } %r, 1
      %m = mul i32 %x, %y
      ret i32 %m
    })";
  EXPECT_EQ(jit().run_ir<uint32_t>(ir, 7u, 4u), 33u);
}

}  // namespace
}  // namespace mneme::ptx
