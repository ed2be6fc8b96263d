// Row: a function of HIP's that is a function of CUDA's with other names of its types.
//
//   using Rows = HookList<MNEME_ROW(hipMalloc, cudaMalloc), …>;
//   Rows::install(table);
//
// The handler is made from both prototypes: each argument becomes CUDA's (values.h), the slot of CUDA's table is called, and what
// it returns becomes HIP's. A pair of types that values.h does not know does not compile.
#pragma once

#include <tuple>
#include <utility>

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

template <typename HipFunction, mneme_call kCuda, typename CudaFunction>
struct Row;

template <typename... Hip, mneme_call kCuda, typename... Cuda>
struct Row<hipError_t (*)(Hip...), kCuda, cudaError_t (*)(Cuda...)> {
  static_assert(sizeof...(Hip) == sizeof...(Cuda), "a function with other arguments needs a handler of its own");
  static hipError_t call(Table& table, Hip... values) {
    std::tuple<Argument<Hip, Cuda>...> arguments{Argument<Hip, Cuda>{values}...};
    return std::apply(
        [&](auto&... argument) {
          const cudaError_t code = reinterpret_cast<cudaError_t (*)(Cuda...)>(table.cuda(kCuda))(argument.get()...);
          if (code == cudaSuccess) (argument.finish(), ...);
          return finish(to_hip(code));
        },
        arguments);
  }
};

// For handlers that are written: their result becomes the thread's last error.
template <auto kHandler>
struct Noted;
template <typename... A, hipError_t (*kHandler)(Table&, A...)>
struct Noted<kHandler> {
  static hipError_t call(Table& table, A... arguments) { return finish(kHandler(table, arguments...)); }
};

#define MNEME_ROW(hip, cuda) Hook<MNEME_CALL_##hip, &Row<decltype(&::hip), MNEME_CALL_##cuda, decltype(&::cuda)>::call>
// Of a function that HIP's headers overload: with its type, as hipError_t (*)(void**, const void*).
#define MNEME_ROW_OF(hip, cuda, ...) \
  Hook<MNEME_CALL_##hip, &Row<decltype(static_cast<__VA_ARGS__>(&::hip)), MNEME_CALL_##cuda, decltype(&::cuda)>::call>
// The variant for programs that are compiled with per-thread default streams.
#define MNEME_ROW_SPT(hip, cuda, variant) \
  Hook<MNEME_CALL_##hip##_spt, &Row<decltype(&::hip##_spt), MNEME_CALL_##cuda##_##variant, decltype(&::cuda)>::call>
// A handler of one's own: hipError_t handler(Table&, …), with the arguments of HIP's function behind the table.
#define MNEME_OWN(hip, handler) Hook<MNEME_CALL_##hip, &Noted<&handler>::call>

}  // namespace mneme::hip
