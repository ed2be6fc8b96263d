// mneme doctor: what is there and what is missing on this machine, with the command that mends it.
#include "mneme/cli/diagnosis.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

constexpr int kExitSound = 0;
constexpr int kExitBroken = 1;

class DoctorCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--device", device_, "auto: a GPU may be absent; cuda: one is needed")
        ->check(CLI::IsMember({"auto", "cuda"}))
        ->capture_default_str();
    app.add_flag("--json", json_, "one JSON object instead of lines");
    app.footer(
        "ok: there. absent: Mneme works without it, and the line says what does not. broken: what is needed does not work. "
        "Behind "
        "-> stands what mends it. Nothing is changed.\n"
        "Exit status: 0 nothing is broken, 1 something is, 64 the command line is wrong.");
  }

  int run() override {
    const std::vector<Finding> findings = diagnose(device_ == "cuda" ? WantedDevice::cuda : WantedDevice::any);
    const bool sound = is_sound(findings);
    if (json_) {
      nlohmann::json list = nlohmann::json::array();
      for (const Finding& finding : findings) list.push_back(to_json(finding));
      write_output(to_text({{"version", MNEME_VERSION}, {"sound", sound}, {"findings", list}}));
    } else {
      write_output(format_findings(findings));
    }
    return sound ? kExitSound : kExitBroken;
  }

 private:
  std::string device_ = "auto";
  bool json_ = false;
};

const Registration registration({.name = "doctor",
                                 .summary = "say what is missing on this machine, and what mends it",
                                 .examples = {{"mneme doctor", "what is there, what is missing, and the command that mends it"},
                                              {"mneme doctor --device cuda", "the same where a GPU is needed: status 1 without"},
                                              {"mneme doctor --json", "for a script"}}},
                                [] { return std::make_unique<DoctorCommand>(); });

}  // namespace
}  // namespace mneme::cli
