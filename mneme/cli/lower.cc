// mneme lower REQUEST REPLY, numbers of files that are open: lowers the kernels of a program's device image to the CPU, for the
// emulation, which runs it.
#include <algorithm>

#include "mneme/base/compress.h"
#include "mneme/base/memory_file.h"
#include "mneme/base/regular_file.h"
#include "mneme/cli/options/command.h"
#include "mneme/compile/backend.h"
#include "mneme/runtime/lower_request.h"

namespace mneme::cli {
namespace {

// All segments in one module, their symbols under the names that they have in the image.
Result<ir::Module> link_request(const LowerRequest& request) {
  std::optional<ir::Module> whole;
  for (const LowerModule& part : request.modules) {
    MNEME_ASSIGN(ByteVector bitcode, decompress(part.bitcode, part.bitcode_size));
    MNEME_ASSIGN(ir::Module module, ir::Module::parse(bitcode, part.name));
    for (const auto& [from, to] : part.renames) MNEME_TRY(module.rename(from, to));
    if (!whole)
      whole = std::move(module);
    else
      MNEME_TRY(whole->link(std::move(module)));
  }
  if (!whole) return error(Code::invalid_argument, "there is nothing to lower");
  return std::move(*whole);
}

class Lowering {
 public:
  Lowering(Compiler& compiler, const ir::Module& module, const LowerRequest& request) : compiler_(compiler), module_(module) {
    options_.kernels = request.kernels;
    for (const LowerBinding& binding : request.bindings) options_.bindings.push_back({binding.name, binding.address});
  }

  // All kernels at once. Where that fails, the kernels that fail alone are refused, each with its reason, and the others lowered
  // together.
  Result<LowerReply> run() {
    Result<CompiledCode> all = compiler_.compile(module_, options_);
    if (all.ok()) return LowerReply{std::move(all->image.bytes), {}};
    LowerReply reply = refuse();
    if (reply.refused.empty()) return all.status();  // each goes alone, but not together
    if (options_.kernels.empty()) return reply;
    MNEME_ASSIGN(CompiledCode rest, compiler_.compile(module_, options_));
    reply.image = std::move(rest.image.bytes);
    return reply;
  }

 private:
  LowerReply refuse() {
    LowerReply reply;
    std::vector<std::string> accepted;
    for (const std::string& kernel : options_.kernels) {
      CompileOptions alone = options_;
      alone.kernels = {kernel};
      Result<CompiledCode> code = compiler_.compile(module_, alone);
      if (code.ok())
        accepted.push_back(kernel);
      else
        reply.refused.push_back({kernel, code.status().message()});
    }
    options_.kernels = std::move(accepted);
    return reply;
  }

  Compiler& compiler_;
  const ir::Module& module_;
  CompileOptions options_;
};

class LowerCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("REQUEST", request_, "number of an open file: what to lower")->required();
    app.add_option("REPLY", reply_, "number of an open file: for the answer")->required();
  }

  int run() override {
    Status status = lower();
    return status.ok() ? 0 : report(status);
  }

 private:
  Status lower() {
    MNEME_ASSIGN(ByteVector bytes, read_whole(request_));
    MNEME_ASSIGN(LowerRequest request, LowerRequest::decode(bytes, "what is to be lowered"));
    MNEME_ASSIGN(ir::Module module, link_request(request));
    constexpr DeviceKind kKind = DeviceKind::cpu;
    MNEME_ASSIGN(std::unique_ptr<Compiler> compiler, Compiler::create(kKind, architecture_without_device(kKind, "")));
    MNEME_ASSIGN(LowerReply reply, Lowering(*compiler, module, request).run());
    return write_all(reply_, reply.encode(), "the answer");
  }

  int request_ = -1;
  int reply_ = -1;
};

const Registration registration({.name = "lower",
                                 .summary = "lower a program's kernels to the CPU",
                                 .application = Application::none,
                                 .visibility = Visibility::hidden},
                                [] { return std::make_unique<LowerCommand>(); });

}  // namespace
}  // namespace mneme::cli
