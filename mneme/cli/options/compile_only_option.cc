#include "mneme/cli/options/compile_only_option.h"

namespace mneme::cli {
namespace {

constexpr char kDevice[] = "--device";

CLI::Option* add_architecture(CLI::App& app, std::string& architecture) {
  return app
      .add_option("--arch", architecture,
                  "architecture to compile for, of any kind of device, as sm_90, gfx942, gfx90a:xnack+ or x86-64-v3 (default: "
                  "the one that "
                  "the kernel was recorded with)")
      ->check([](const std::string& text) { return std::string(text.empty() ? "an architecture is expected, not ''" : ""); })
      ->type_name("TEXT");
}

}  // namespace

void CompileOnlyOption::declare(CLI::App& app) {
  CLI::Option* only =
      app.add_flag("--compile-only", given_, "compile and run nothing: prints what the code needs. No device is needed");
  add_architecture(app, architecture_)->needs(only);
  if (CLI::Option* device = app.get_option_no_throw(kDevice)) only->excludes(device);
}

void declare_architecture(CLI::App& app, std::string& architecture) {
  CLI::Option* option = add_architecture(app, architecture);
  if (CLI::Option* device = app.get_option_no_throw(kDevice)) option->excludes(device);
}

}  // namespace mneme::cli
