// mneme documents DIR: writes the pages of the manual and the scripts for shells as an installation has them below share.
#include <filesystem>

#include "mneme/base/file_system.h"
#include "mneme/cli/completion_scripts.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/manual_page.h"

namespace mneme::cli {
namespace {

class DocumentsCommand : public Command {
 public:
  void add_options(CLI::App& app) override { app.add_option("DIR", folder_, "where share would be")->required(); }

  int run() override {
    for (const ManualPage& page : manual_pages())
      if (Status status = write(Path("man") / "man1" / page.file, page.text); !status.ok()) return report(status);
    for (const CompletionScript& script : completion_scripts())
      if (Status status = write(script.file, script.text); !status.ok()) return report(status);
    return 0;
  }

 private:
  Status write(const Path& place, std::string_view text) const {
    const Path file = Path(folder_) / place;
    std::error_code failure;
    std::filesystem::create_directories(file.parent_path(), failure);
    if (failure) return error(Code::io, "making the folder {}: {}", file.parent_path().string(), failure.message());
    return FileSystem::posix().write_atomically(file, std::as_bytes(std::span(text)));
  }

  std::string folder_;
};

const Registration registration({.name = "documents",
                                 .summary = "write the pages of the manual and the scripts for shells",
                                 .visibility = Visibility::hidden},
                                [] { return std::make_unique<DocumentsCommand>(); });

}  // namespace
}  // namespace mneme::cli
