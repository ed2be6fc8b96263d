// mneme worker DESCRIPTOR: the process of a pool's workers, which starts it.
#include "mneme/cli/command.h"
#include "mneme/pool/worker_process.h"

namespace mneme::cli {
namespace {

class WorkerCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DESCRIPTOR", descriptor_, "the open descriptor of the connection to the pool")
        ->required()
        ->check(CLI::Range(3, 1 << 20));
  }
  int run() override { return run_worker_process(descriptor_); }

 private:
  int descriptor_ = -1;
};

const Registration registration({.name = "worker",
                                 .summary = "compile and measure for a pool of configurations",
                                 .application = Application::none,
                                 .visibility = Visibility::hidden},
                                [] { return std::make_unique<WorkerCommand>(); });

}  // namespace
}  // namespace mneme::cli
