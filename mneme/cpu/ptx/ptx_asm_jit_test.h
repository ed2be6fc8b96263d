// For tests: runs inline PTX and device IR on the host, through lower_device_instructions() and LLVM's JIT.
//
// One Jit serves a process; each distinct text is compiled once. Code runs as lane 5 of warp 1 (thread 37) of block (3, 2, 1) in
// blocks of 64x2x1 threads and a grid of 7x5x4, with `shared` as its shared memory and services that write down how they
// were called.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cpu/run/image.h"

namespace mneme::ptx {

struct ServiceCall {
  std::string name;
  std::vector<uint64_t> arguments;
  friend bool operator==(const ServiceCall&, const ServiceCall&) = default;
};

class Jit {
 public:
  static Jit& instance();

  // Lowers only; what lower_device_instructions() said. `signature` as below.
  Status lower(const std::string& ptx, const std::string& constraints, const std::string& signature);

  // run<float>("add.f32 $0, $1, $2;", "=f,f,f", 1.0f, 2.0f)
  template <typename R, typename... Args>
  R run(const std::string& ptx, const std::string& constraints, Args... args) {
    using Function = R (*)(Args..., mneme_cpu_thread*);
    auto function = reinterpret_cast<Function>(compile_ptx(ptx, constraints, letter<R>() + (letter<Args>() + ... + "")));
    return function(args..., &thread_);
  }
  // Runs `@f`, whose last parameter is the thread, of a module in textual IR.
  template <typename R, typename... Args>
  R run_ir(const std::string& ir, Args... args) {
    using Function = R (*)(Args..., mneme_cpu_thread*);
    return reinterpret_cast<Function>(compile_ir(ir))(args..., &thread_);
  }

  std::vector<ServiceCall> take_calls();
  uint8_t* shared() { return block_.shared; }
  mneme_cpu_texture_request texture_request{};  // of the last fetch
  mneme_cpu_surface_request surface_request{};  // of the last access
  std::vector<uint8_t> surface_data;            // that was written last
  uint32_t next_result = 0;                     // what a service returns next, and writes where it writes a result

 private:
  Jit();
  // The type letters of the result and the arguments: v, h (i16), r (i32), l (i64), f, d, p.
  template <typename T>
  static std::string letter() {
    if constexpr (std::is_void_v<T>)
      return "v";
    else if constexpr (std::is_same_v<T, float>)
      return "f";
    else if constexpr (std::is_same_v<T, double>)
      return "d";
    else if constexpr (std::is_pointer_v<T>)
      return "p";
    else if constexpr (sizeof(T) == 2)
      return "h";
    else if constexpr (sizeof(T) == 4)
      return "r";
    else
      return "l";
  }
  void* compile_ptx(const std::string& ptx, const std::string& constraints, const std::string& signature);
  void* compile_ir(const std::string& ir);

  mneme_cpu_services services_{};
  mneme_cpu_block block_{};
  mneme_cpu_thread thread_{};
};

}  // namespace mneme::ptx
