// CodegenOptions: what a configuration says of code generation and of floating-point arithmetic.
//
// Compiling with a value that the target cannot honour fails: unsupported, naming the option and the target.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mneme {

// Whether a multiplication and an addition may become one operation that rounds once.
enum class Contraction {
  recorded,  // as in the application; on the CPU device never, so that every pipeline gives the same bytes there
  fast,      // everywhere
  on,        // within one expression, as the language's rules allow (llvm.fmuladd, which clang writes for -ffp-contract=on)
  off,       // nowhere
};
inline constexpr std::pair<const char*, Contraction> kContractions[] = {
    {"recorded", Contraction::recorded}, {"fast", Contraction::fast}, {"on", Contraction::on}, {"off", Contraction::off}};

// Whether 32-bit floating-point operations take and give zeros in place of denormal numbers.
enum class FlushDenormals { recorded, on, off };
inline constexpr std::pair<const char*, FlushDenormals> kFlushDenormals[] = {
    {"recorded", FlushDenormals::recorded}, {"on", FlushDenormals::on}, {"off", FlushDenormals::off}};

inline constexpr const char* kFastMathFlags[] = {"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast"};

struct CodegenOptions {
  unsigned level = 3;                               // of LLVM's code generator, 0 to 3; see codegen_level()
  std::string target;                               // "sm_90a"; empty: the device's architecture
  std::string features;                             // as llc's -mattr takes them: "+ptx87"
  std::vector<std::string> fast_math;               // some of kFastMathFlags, set on every operation before the pipeline
  FlushDenormals ftz = FlushDenormals::recorded;    // the CPU device never flushes, and refuses `on`
  Contraction contraction = Contraction::recorded;  // another value prevails over the flags in the recorded IR
  std::optional<unsigned> code_object = {};         // version for an AMD GPU, 5 or 6; nothing: the recorded one
  friend bool operator==(const CodegenOptions&, const CodegenOptions&) = default;
};

}  // namespace mneme
