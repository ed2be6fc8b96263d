// Calls that write device memory and are neither allocations nor launches: while a launch is being captured, those of other
// threads wait, since what they write would look as if the kernel had written it.
#include "mneme/record/table.h"

namespace mneme {
namespace {

template <mneme_call kSlot, typename F>
struct Waiting;

template <mneme_call kSlot, typename R, typename... A>
struct Waiting<kSlot, R(A...)> {
  static R call(Table& table, A... arguments) {
    Gate::Use use(recorder()->gate());
    return reinterpret_cast<R (*)(A...)>(table.next(kSlot))(arguments...);
  }
};

// A function whose signature is that of `like`: variants for per-thread default streams have their original's.
#define MNEME_WAITS(name, like) Hook<MNEME_CALL_##name, &Waiting<MNEME_CALL_##name, decltype(::like)>::call>
#define MNEME_WAIT(name) MNEME_WAITS(name, name)
#define MNEME_WAIT_PTDS(name) MNEME_WAITS(name, name), MNEME_WAITS(name##_ptds, name)
#define MNEME_WAIT_PTSZ(name) MNEME_WAITS(name, name), MNEME_WAITS(name##_ptsz, name)

// Deprecated functions are called as well.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
using Hooks = HookList<                                                                                                     //
    MNEME_WAIT_PTDS(cudaMemcpy), MNEME_WAIT_PTDS(cudaMemcpy2D), MNEME_WAIT_PTDS(cudaMemcpy3D), MNEME_WAIT(cudaMemcpyPeer),  //
    MNEME_WAIT_PTSZ(cudaMemcpyAsync), MNEME_WAIT_PTSZ(cudaMemcpy2DAsync), MNEME_WAIT_PTSZ(cudaMemcpy3DAsync),               //
    MNEME_WAIT(cudaMemcpyPeerAsync), MNEME_WAIT_PTDS(cudaMemcpy3DPeer), MNEME_WAIT_PTSZ(cudaMemcpy3DPeerAsync),             //
    MNEME_WAIT_PTSZ(cudaMemcpyBatchAsync), MNEME_WAIT_PTSZ(cudaMemcpy3DBatchAsync),                                         //
    MNEME_WAIT_PTDS(cudaMemcpyToSymbol), MNEME_WAIT_PTSZ(cudaMemcpyToSymbolAsync),                                          //
    MNEME_WAIT_PTDS(cudaMemcpyToArray), MNEME_WAIT_PTSZ(cudaMemcpyToArrayAsync), MNEME_WAIT_PTDS(cudaMemcpy2DToArray),
    MNEME_WAIT_PTSZ(cudaMemcpy2DToArrayAsync), MNEME_WAIT_PTDS(cudaMemcpyArrayToArray), MNEME_WAIT_PTDS(cudaMemcpy2DArrayToArray),
    MNEME_WAIT_PTDS(cudaMemcpyFromArray), MNEME_WAIT_PTSZ(cudaMemcpyFromArrayAsync),                           //
    MNEME_WAIT_PTDS(cudaMemcpy2DFromArray), MNEME_WAIT_PTSZ(cudaMemcpy2DFromArrayAsync),                       //
    MNEME_WAIT_PTDS(cudaMemset), MNEME_WAIT_PTDS(cudaMemset2D), MNEME_WAIT_PTDS(cudaMemset3D),                 //
    MNEME_WAIT_PTSZ(cudaMemsetAsync), MNEME_WAIT_PTSZ(cudaMemset2DAsync), MNEME_WAIT_PTSZ(cudaMemset3DAsync),  //
    MNEME_WAIT_PTSZ(cudaGraphLaunch)>;

}  // namespace

void install_activity_hooks(Table& table) { Hooks::install(table); }

}  // namespace mneme
