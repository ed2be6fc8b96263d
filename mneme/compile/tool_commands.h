// ToolCommands: a compilation as LLVM's own programs do it, for people who look into it with these.
//
//   opt OPT -passes=PASSES in.ll -S -o optimised.ll
//   opt OPT -passes=CLEANING optimised.ll -S -o optimised.ll        where `cleaning` is not empty
//   llc LLC optimised.ll -o kernel.ptx                              or an object, kernel.o, which a linker takes
#pragma once

#include <string>
#include <vector>

namespace mneme {

struct ToolCommands {
  // How what the programs make is related to what Compiler::translate() makes.
  enum class Fidelity {
    same,     // to the byte
    linkage,  // but for who may call the functions beside the kernel (.weak, .visible): the instructions are the same
    other,
  };

  std::string ir;         // text: the IR as the pass pipeline gets it, with line tables for debug information
  std::string optimised;  // text: the IR as these programs leave it, which is what llc is given
  std::string assembly;   // text: what Compiler::translate() makes, as assembly
  std::string llvm;       // the version of LLVM: "22.1.8"
  std::string passes;
  std::string cleaning;                // drops functions that the kernel does not reach any more
  std::vector<std::string> opt;        // options, such as "-mcpu=sm_90"
  std::vector<std::string> llc;        // likewise
  Fidelity fidelity = Fidelity::same;  // told by the libraries of the same LLVM, which have done what the programs are to do
};

}  // namespace mneme
