// Row: a function of HIP's that is a function of CUDA's with other names of its types.
//
//   using Rows = HookList<MNEME_ROW(hipMalloc, cudaMalloc), …>;
//   Rows::install(table);
//
// The handler is made from both prototypes: each argument becomes CUDA's (values.h), the slot of CUDA's table is called, and what
// it returns becomes HIP's. A pair of types that values.h does not know does not compile.
//
// Where the slots end in the program's own HIP runtime, a row is its inverse too: CUDA's slot gets a function that makes HIP's
// arguments of CUDA's and calls the runtime. A row whose slot no interposer stands before calls the runtime at once.
#pragma once

#include <tuple>
#include <utility>

#include "mneme/hip/as_made.h"
#include "mneme/hip/errors.h"
#include "mneme/hip/table.h"
#include "mneme/hip/values.h"

namespace mneme::hip {

template <typename T>
concept HasCudaForm = requires(const T& value) { to_cuda(value); };
template <typename T>
concept HasHipForm = requires(const T& value) { to_hip(value); };

// One argument on its way to CUDA, and what CUDA has written through it on its way back.
template <typename Hip, typename Cuda>
struct Argument {
  static_assert(kSame<Hip, Cuda>, "values.h is to say how the one becomes the other");
  Hip value;
  Cuda get() const {
    if constexpr (std::is_integral_v<Hip> && std::is_integral_v<Cuda>)
      return static_cast<Cuda>(value);
    else
      return std::bit_cast<Cuda>(value);
  }
  void finish() const {}
};

// A pointer to values that are the same: CUDA reads and writes the program's own.
template <typename Hip, typename Cuda>
  requires(kSame<Hip, Cuda> || kSame<std::remove_const_t<Hip>, std::remove_const_t<Cuda>>) && (!kSame<Hip*, Cuda*>)
struct Argument<Hip*, Cuda*> {
  static_assert(sizeof(Hip) == sizeof(Cuda) && std::is_const_v<Cuda> >= std::is_const_v<Hip>);
  Hip* value;
  Cuda* get() const { return reinterpret_cast<Cuda*>(const_cast<std::remove_const_t<Hip>*>(value)); }
  void finish() const {}
};

// A pointer to a structure that is read.
template <typename Hip, typename Cuda>
  requires HasCudaForm<Hip> && (!kSame<std::remove_const_t<Hip>, Cuda>)
struct Argument<const Hip*, const Cuda*> {
  const Hip* value;
  Cuda converted{};
  const Cuda* get() {
    if (!value) return nullptr;
    converted = to_cuda(*value);
    return &converted;
  }
  void finish() const {}
};

// A pointer to one that is written.
template <typename Hip, typename Cuda>
  requires HasHipForm<Cuda> && (!kSame<Hip, Cuda>)
struct Argument<Hip*, Cuda*> {
  Hip* value;
  Cuda converted{};
  Cuda* get() { return value ? &converted : nullptr; }
  void finish() const {
    if (value) *value = to_hip(converted);
  }
};

// Whether what CUDA has written is converted on its way back.
template <typename Hip, typename Cuda>
inline constexpr bool kIsConvertedBack = false;
template <typename Hip, typename Cuda>
inline constexpr bool kIsConvertedBack<Hip*, Cuda*> =
    !std::is_const_v<Cuda> && !kSame<Hip, Cuda> && !kSame<std::remove_const_t<Hip>, Cuda> && !kSame<Hip*, Cuda*>;

template <mneme_hip_call kHip, typename HipFunction, mneme_call kCuda, typename CudaFunction>
struct Row;

template <mneme_hip_call kHip, typename... Hip, mneme_call kCuda, typename... Cuda>
struct Row<kHip, hipError_t (*)(Hip...), kCuda, cudaError_t (*)(Cuda...)> {
  static_assert(sizeof...(Hip) == sizeof...(Cuda), "a function with other arguments needs a handler of its own");
  static hipError_t call(Table& table, Hip... values) {
    if (!table.ends_in_runtime()) return finish(to_hip(call_slot(table, values...)));
    const auto real = table.runtime<hipError_t (*)(Hip...)>(kHip);
    const bool is_stood_before = table.is_stood_before(kCuda);
    if (real && !is_stood_before) return finish(table, real(values...));
    const LastError last(table);
    if (!is_stood_before) return last.finish(hipErrorNotSupported);
    if constexpr ((kIsConvertedBack<Hip, Cuda> || ...)) {
      return last.finish(to_hip(call_slot(table, values...)));
    } else {
      auto call = [&] { return real ? real(values...) : hipErrorNotSupported; };
      const AsMade made(kCuda, call);
      return last.finish(made.result(call_slot(table, values...)));
    }
  }

 private:
  static cudaError_t call_slot(Table& table, Hip... values) {
    std::tuple<Argument<Hip, Cuda>...> arguments{Argument<Hip, Cuda>{values}...};
    return std::apply(
        [&](auto&... argument) {
          const cudaError_t code = reinterpret_cast<cudaError_t (*)(Cuda...)>(table.cuda(kCuda))(argument.get()...);
          if (code == cudaSuccess) (argument.finish(), ...);
          return code;
        },
        arguments);
  }
};

// One argument of CUDA's on its way to HIP, and what HIP has written through it on its way back: Argument's inverse.
template <typename Cuda, typename Hip>
struct Returned {
  static_assert(kSame<Hip, Cuda>, "values.h is to say how the one becomes the other");
  Cuda value;
  Hip get() const {
    if constexpr (std::is_integral_v<Hip> && std::is_integral_v<Cuda>)
      return static_cast<Hip>(value);
    else
      return std::bit_cast<Hip>(value);
  }
  void finish() const {}
};
template <typename Cuda, typename Hip>
  requires(kSame<Hip, Cuda> || kSame<std::remove_const_t<Hip>, std::remove_const_t<Cuda>>) && (!kSame<Hip*, Cuda*>)
struct Returned<Cuda*, Hip*> {
  Cuda* value;
  Hip* get() const { return reinterpret_cast<Hip*>(const_cast<std::remove_const_t<Cuda>*>(value)); }
  void finish() const {}
};
template <typename Cuda, typename Hip>
  requires HasHipForm<Cuda> && (!kSame<Hip, Cuda>) && (!kSame<std::remove_const_t<Hip>, Cuda>)
struct Returned<const Cuda*, Hip*> {
  const Cuda* value;
  std::remove_const_t<Hip> converted{};
  Hip* get() {
    if (!value) return nullptr;
    converted = to_hip(*value);
    return &converted;
  }
  void finish() const {}
};
template <typename Cuda, typename Hip>
  requires HasCudaForm<Hip> && (!std::is_const_v<Cuda>) && (!kSame<Hip, Cuda>)
struct Returned<Cuda*, Hip*> {
  Cuda* value;
  Hip converted{};
  Hip* get() { return value ? &converted : nullptr; }
  void finish() const {
    if (value) *value = to_cuda(converted);
  }
};

// The end of a slot: the program's own function, where that has one of the name.
template <mneme_hip_call kHip, typename HipFunction, mneme_call kCuda, typename CudaFunction>
struct Inverse;
template <mneme_hip_call kHip, typename... Hip, mneme_call kCuda, typename... Cuda>
struct Inverse<kHip, hipError_t (*)(Hip...), kCuda, cudaError_t (*)(Cuda...)> {
  static cudaError_t call(Table& table, Cuda... values) {
    if (cudaError_t code; AsMade::make(kCuda, code, subject_of(values...))) return code;
    std::tuple<Returned<Cuda, Hip>...> arguments{Returned<Cuda, Hip>{values}...};
    return std::apply(
        [&](auto&... argument) {
          const cudaError_t code = to_cuda(table.runtime<hipError_t (*)(Hip...)>(kHip)(argument.get()...));
          if (code == cudaSuccess) (argument.finish(), ...);
          return code;
        },
        arguments);
  }
  static void install(uint32_t index) {
    Table& table = Table::attached(index);
    if (table.runtime<mneme_function>(kHip)) table.end(kCuda, Hook<kCuda, &call>::call_of(index));
  }
};

// A row in both directions. kHandler is what the program's slot gets.
template <mneme_hip_call kHip, auto kHandler, typename Back>
struct RowHook : Hook<kHip, kHandler> {
  using Inverse = Back;
};

// The inverses of those hooks of a list that are rows.
template <typename Hooks>
struct Inverses;
template <typename... H>
struct Inverses<HookList<H...>> {
  static void install(uint32_t index) { (install_one<H>(index), ...); }

 private:
  template <typename One>
  static void install_one(uint32_t index) {
    if constexpr (requires { typename One::Inverse; }) One::Inverse::install(index);
  }
};

// An end that is written: R handler(Table&, …), with the arguments of CUDA's function behind the table, which calls kHip.
template <mneme_hip_call kHip, mneme_call kCuda, auto kHandler>
struct WrittenEnd;
template <mneme_hip_call kHip, mneme_call kCuda, typename R, typename... A, R (*kHandler)(Table&, A...)>
struct WrittenEnd<kHip, kCuda, kHandler> {
  static R call(Table& table, A... arguments) {
    if constexpr (std::is_same_v<R, cudaError_t>)
      if (cudaError_t code; AsMade::make(kCuda, code, subject_of(arguments...))) return code;
    return kHandler(table, arguments...);
  }
  static void install(uint32_t index) {
    Table& table = Table::attached(index);
    if (table.real(kHip)) table.end(kCuda, Hook<kCuda, &call>::call_of(index));
  }
};

// Fills the slots of a family, and the ends of the slots of CUDA's table that its rows and handlers call.
template <typename Hooks, typename Ends = HookList<>>
void install_both_ways(const Table& table) {
  Hooks::install(table);
  if (!table.ends_in_runtime()) return;
  HookList<Inverses<Hooks>>::install(table);
  Ends::install(table);
}

// For handlers that are written: their result becomes the thread's last error.
template <auto kHandler>
struct Noted;
template <typename... A, hipError_t (*kHandler)(Table&, A...)>
struct Noted<kHandler> {
  static hipError_t call(Table& table, A... arguments) {
    const LastError last(table);
    return last.finish(kHandler(table, arguments...));
  }
};

// The same for those whose call the end of CUDA's slot kCuda makes as the program made it.
template <mneme_hip_call kHip, auto kHandler, mneme_call kCuda>
struct NotedAsMade;
template <mneme_hip_call kHip, typename... A, hipError_t (*kHandler)(Table&, A...), mneme_call kCuda>
struct NotedAsMade<kHip, kHandler, kCuda> {
  static hipError_t call(Table& table, A... arguments) {
    const auto real = table.ends_in_runtime() ? table.runtime<hipError_t (*)(A...)>(kHip) : nullptr;
    const LastError last(table);
    if (!real) return last.finish(kHandler(table, arguments...));
    hipError_t result = hipSuccess;
    bool is_made = false;
    auto call = [&] { return is_made = true, result = real(arguments...); };
    const AsMade made(kCuda, call);
    const hipError_t seen = kHandler(table, arguments...);
    return last.finish(is_made && to_cuda(seen) == to_cuda(result) ? result : seen);
  }
};

// The same for those that do nothing but convert: where no interposer stands before the slot they are the runtime's.
template <mneme_hip_call kHip, auto kHandler, mneme_call kCuda>
struct NotedWhereStoodBefore;
template <mneme_hip_call kHip, typename... A, hipError_t (*kHandler)(Table&, A...), mneme_call kCuda>
struct NotedWhereStoodBefore<kHip, kHandler, kCuda> {
  static hipError_t call(Table& table, A... arguments) {
    if (!table.ends_in_runtime() || table.is_stood_before(kCuda))
      return NotedAsMade<kHip, kHandler, kCuda>::call(table, arguments...);
    const auto real = table.runtime<hipError_t (*)(A...)>(kHip);
    return real ? finish(table, real(arguments...)) : LastError(table).finish(hipErrorNotSupported);
  }
};

// A function of the device, or of what Mneme has no part in: the program's own runtime answers where the slots end in it.
template <mneme_hip_call kHip, auto kHandler>
struct EmulatedHook {
  static void install(uint32_t index) {
    const Table& table = Table::attached(index);
    if (const auto real = table.ends_in_runtime() ? table.runtime<mneme_function>(kHip) : nullptr)
      table.abi().slots[kHip] = real;
    else
      Hook<kHip, kHandler>::install(index);
  }
};

#define MNEME_ROW_PAIR(hip_slot, hip_type, cuda_slot, cuda_type) \
  RowHook<hip_slot, &Row<hip_slot, hip_type, cuda_slot, cuda_type>::call, Inverse<hip_slot, hip_type, cuda_slot, cuda_type>>
#define MNEME_ROW(hip, cuda) MNEME_ROW_PAIR(MNEME_CALL_##hip, decltype(&::hip), MNEME_CALL_##cuda, decltype(&::cuda))
// Of a function that HIP's headers overload: with its type, as hipError_t (*)(void**, const void*).
#define MNEME_ROW_OF(hip, cuda, type) \
  MNEME_ROW_PAIR(MNEME_CALL_##hip, decltype(static_cast<type>(&::hip)), MNEME_CALL_##cuda, decltype(&::cuda))
// The variant for programs that are compiled with per-thread default streams.
#define MNEME_ROW_SPT(hip, cuda, variant) \
  MNEME_ROW_PAIR(MNEME_CALL_##hip##_spt, decltype(&::hip##_spt), MNEME_CALL_##cuda##_##variant, decltype(&::cuda))
// The end of a slot that is no row: by the types of both, or by a handler (WrittenEnd).
#define MNEME_END(hip, cuda, type) \
  Inverse<MNEME_CALL_##hip, decltype(static_cast<type>(&::hip)), MNEME_CALL_##cuda, decltype(&::cuda)>
#define MNEME_WRITTEN_END(hip, cuda, handler) WrittenEnd<MNEME_CALL_##hip, MNEME_CALL_##cuda, &handler>
// A function of the program's own runtime, for who knows that it has it.
#define MNEME_REAL(table, name) (table).runtime<decltype(&::name)>(MNEME_CALL_##name)
// A handler of one's own: hipError_t handler(Table&, …), with the arguments of HIP's function behind the table.
#define MNEME_OWN(hip, handler) Hook<MNEME_CALL_##hip, &Noted<&handler>::call>
// One whose call goes through one slot of CUDA's.
#define MNEME_OWN_THROUGH(hip, handler, cuda) \
  Hook<MNEME_CALL_##hip, &NotedAsMade<MNEME_CALL_##hip, &handler, MNEME_CALL_##cuda>::call>
#define MNEME_CONVERTED_THROUGH(hip, handler, cuda) \
  Hook<MNEME_CALL_##hip, &NotedWhereStoodBefore<MNEME_CALL_##hip, &handler, MNEME_CALL_##cuda>::call>
// One that only stands in for a runtime that is not there.
#define MNEME_EMULATED(hip, handler) EmulatedHook<MNEME_CALL_##hip, &Noted<&handler>::call>
#define MNEME_EMULATED_AS_IS(hip, handler) EmulatedHook<MNEME_CALL_##hip, &handler>

}  // namespace mneme::hip
