#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "mneme/cpu/lower/amdgcn/emitter.h"

namespace mneme::cpu::amdgcn {
namespace {

using namespace llvm::Intrinsic;
using llvm::Value;

Value* nothing(Emitter& e) { return e.ir.getTrue(); }

Value* barrier(Emitter& e) {
  e.state.call(ptx::CpuService::barrier, {e.ir.getInt32(0), e.ir.getInt32(0)});
  return nothing(e);
}

// The barrier in two parts. Nobody is let through before all have come to the second, which is later than a GPU may.
constexpr uint64_t kWorkGroupBarrier = static_cast<uint32_t>(-1);
bool is_of_work_group(Emitter& e) { return static_cast<uint32_t>(e.constant(0)) == kWorkGroupBarrier || e.constant(0) == 0xffff; }
Value* barrier_signal(Emitter& e) { return is_of_work_group(e) ? nothing(e) : nullptr; }
Value* barrier_wait(Emitter& e) { return is_of_work_group(e) ? barrier(e) : nullptr; }

// One less than how many waves it waits for, and a resource's number.
Value* grid_barrier(Emitter& e) {
  e.state.call(ptx::CpuService::grid_barrier, {e.ir.CreateAdd(e.argument(0), e.ir.getInt32(1))});
  return nothing(e);
}

Value* wave_barrier(Emitter& e) {
  e.state.call(ptx::CpuService::wave_sync, {e.ir.getInt32(e.site)});
  return nothing(e);
}

Value* yield(Emitter& e) {
  e.state.call(ptx::CpuService::yield, {});
  return nothing(e);
}

Value* end(Emitter& e) {
  e.state.call(ptx::CpuService::exit, {});
  return nothing(e);
}

Value* cycles(Emitter& e) { return e.state.call(ptx::CpuService::clock, {}); }
// Counts at 100 MHz.
Value* real_time(Emitter& e) { return e.ir.CreateUDiv(e.state.call(ptx::CpuService::global_timer, {}), e.ir.getInt64(10)); }

// Messages to the hardware that are answered: of these, the one that asks for the time.
Value* answered_message(Emitter& e) {
  constexpr uint64_t kGetRealTime = 0x83;
  return e.constant(0) == kGetRealTime ? e.ir.CreateZExtOrTrunc(real_time(e), e.call.getType()) : nullptr;
}

// Hardware registers: bits 0 to 5 number one, 6 to 10 say the first bit, 11 to 15 how many bits follow it.
Value* hardware_register(Emitter& e) {
  constexpr uint64_t kHardwareId = 4, kXccId = 20, kShaderCycles = 29;
  constexpr uint64_t kComputeUnit = 8, kComputeUnits = 0xf, kEngine = 13;
  const uint64_t number = e.constant(0) & 63, first = e.constant(0) >> 6 & 31, bits = (e.constant(0) >> 11 & 31) + 1;
  Value* value = nullptr;
  if (number == kHardwareId) {
    // The worker stands for the compute unit: the low bits of its number, and those above as the shader engine.
    Value* unit = e.ir.CreateShl(e.ir.CreateAnd(e.state.worker(), kComputeUnits), kComputeUnit);
    value = e.ir.CreateOr(unit, e.ir.CreateShl(e.ir.CreateLShr(e.state.worker(), 4), kEngine));
  } else if (number == kXccId) {
    value = e.ir.getInt32(0);
  } else if (number == kShaderCycles) {
    value = e.ir.CreateTrunc(cycles(e), e.ir.getInt32Ty());
  } else {
    return nullptr;
  }
  return e.ir.CreateAnd(e.ir.CreateLShr(value, first), bits == 32 ? ~0u : (1u << bits) - 1);
}

constexpr Row kRows[] = {
    {amdgcn_s_barrier, barrier, Meets::others},
    {amdgcn_s_barrier_signal, barrier_signal, Meets::others},
    {amdgcn_s_barrier_wait, barrier_wait, Meets::others},
    {amdgcn_ds_gws_barrier, grid_barrier, Meets::others},
    {amdgcn_wave_barrier, wave_barrier, Meets::wave},
    {amdgcn_s_sleep, yield, Meets::others},
    {amdgcn_s_sleep_var, yield, Meets::others},
    {amdgcn_endpgm, end, Meets::others},
    {amdgcn_s_memtime, cycles},
    {amdgcn_s_memrealtime, real_time},
    {amdgcn_s_sendmsg_rtn, answered_message},
    {readsteadycounter, real_time},
    {amdgcn_s_getreg, hardware_register},
    // What a GPU orders or is advised by; the caches of a host need neither.
    {amdgcn_sched_barrier, nothing},
    {amdgcn_sched_group_barrier, nothing},
    {amdgcn_iglp_opt, nothing},
    {amdgcn_s_waitcnt, nothing},
    {amdgcn_s_setprio, nothing},
    {amdgcn_s_nop, nothing},
    {amdgcn_s_incperflevel, nothing},
    {amdgcn_s_decperflevel, nothing},
    {amdgcn_s_dcache_inv, nothing},
    {amdgcn_s_dcache_inv_vol, nothing},
    {amdgcn_s_dcache_wb, nothing},
    {amdgcn_buffer_wbinvl1, nothing},
    {amdgcn_buffer_wbinvl1_sc, nothing},
    {amdgcn_buffer_wbinvl1_vol, nothing},
};

}  // namespace

std::span<const Row> system_rows() { return kRows; }

}  // namespace mneme::cpu::amdgcn
