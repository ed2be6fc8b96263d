// What a configuration says of code generation, and of the floating-point arithmetic that it works on.
//
// A value that a target cannot honour is refused when it compiles: unsupported, naming the option and the target.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mneme {

// Whether a multiplication and an addition may become one operation that rounds once.
enum class Contraction {
  recorded,  // where the application was compiled so; never on the CPU device, so that every pipeline gives the same bytes there
  fast,      // everywhere
  on,        // where the language's rules let it within one expression (llvm.fmuladd, which clang writes for -ffp-contract=on)
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
  unsigned level = 3;                               // of LLVM's code generator, 0 to 3
  std::string target;                               // "sm_90a"; empty: the device's architecture
  std::string features;                             // as llc's -mattr takes them: "+ptx87"
  std::vector<std::string> fast_math;               // of kFastMathFlags: set on every operation before the pipeline
  FlushDenormals ftz = FlushDenormals::recorded;    // never on the CPU device, which refuses `on`
  Contraction contraction = Contraction::recorded;  // what it says prevails over the recording's flags
  friend bool operator==(const CodegenOptions&, const CodegenOptions&) = default;
};

}  // namespace mneme
