// mneme worker DESCRIPTOR: the process of a pool's workers, which starts it; with --llvm, of isolated work of LLVM's.
#include "mneme/cli/options/command.h"
#include "mneme/pool/isolated.h"
#include "mneme/pool/worker_process.h"

namespace mneme::cli {
namespace {

class WorkerCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DESCRIPTOR", descriptor_, "the open descriptor of the connection to the pool")
        ->required()
        ->check(CLI::Range(3, 1 << 20));
    app.add_flag("--llvm", llvm_, "read IR and run passes for it, and nothing else");
  }
  int run() override { return llvm_ ? run_llvm_worker_process(descriptor_) : run_worker_process(descriptor_); }

 private:
  int descriptor_ = -1;
  bool llvm_ = false;
};

const Registration registration({.name = "worker",
                                 .summary = "compile and measure for a pool of configurations",
                                 .application = Application::none,
                                 .visibility = Visibility::hidden},
                                [] { return std::make_unique<WorkerCommand>(); });

}  // namespace
}  // namespace mneme::cli
