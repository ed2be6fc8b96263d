// mneme complete -- WORD...: what the last word of a command line may become; for the shells' scripts.
#include "mneme/cli/options/candidates.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

class CompleteCommand : public Command {
 public:
  void add_options(CLI::App&) override {}
  int run() override {
    write_output(format_candidates(candidates(application())));
    return 0;
  }
};

const Registration registration({.name = "complete",
                                 .summary = "what the last word of a command line may become",
                                 .application = Application::required,
                                 .visibility = Visibility::hidden},
                                [] { return std::make_unique<CompleteCommand>(); });

}  // namespace
}  // namespace mneme::cli
