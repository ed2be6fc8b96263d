// JoinedAssembly: assembles several kernels in one call where each is known to become what it becomes alone.
//
// These are kernels of one name, as configurations of a recorded kernel are, each of which stands alone in its PTX
// (joined_ptx.h). The first is assembled alone. It is what the others are taken out like (joined_cubin.h), and it is assembled
// once more, with the first of the others: where it does not become the same file then, kernels of that name are not assembled
// together any more.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {

class JoinedAssembly {
 public:
  // How many kernels are assembled together at most, and how long the PTX of each is: longer kernels would gain little.
  static constexpr size_t kMost = 8, kLongest = size_t{16} << 10;

  // `assembler` must be nvPTXCompiler, from whose files kernels are taken, and outlive this object.
  explicit JoinedAssembly(PtxAssembler& assembler) : assembler_(assembler) {}

  // What PtxAssembler::assemble() makes of each request.
  std::vector<Result<Assembled>> assemble(std::span<const AssembleRequest> requests);

 private:
  // A kernel that was assembled alone.
  struct Pattern {
    AssembleRequest request;
    ByteVector cubin;
    bool compared = false;  // it was assembled with others since
    bool usable = true;     // and was the same then
  };
  using Results = std::vector<std::optional<Result<Assembled>>>;  // by request; nothing: it is not known yet

  // Fills in what it can of the group, whose requests have the same options.
  void join(std::span<const AssembleRequest> requests, std::vector<size_t> group, Results& results);
  // What becomes of each request, the last of which is the pattern's where that is still to be compared. Nothing: they are to be
  // assembled alone.
  std::vector<Assembled> assemble_together(const std::vector<const AssembleRequest*>& requests, Pattern& pattern);

  PtxAssembler& assembler_;
  std::map<std::string, Pattern> patterns_;  // by what the requests have in common beside their options
};

}  // namespace mneme::nvptx
