#include "mneme/cli/options/transfer_report.h"

#include <fmt/format.h>

#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"
#include "mneme/cli/recording_view.h"

namespace mneme::cli {

void TransferReport::add(const ImportedInstance& instance) {
  switch (instance.outcome) {
    case ImportedInstance::Outcome::imported: ++taken_; break;
    case ImportedInstance::Outcome::there_already: ++there_; break;
    case ImportedInstance::Outcome::refused: refused_.push_back(instance); break;
  }
  progress_.stage(fmt::format("{} {}", done_, plural(taken_, "instance")));
}

int TransferReport::end(const Status& status) {
  progress_.clear();
  std::string text = fmt::format("{}: {} {}", shown(into_.string(), 0), plural(taken_, "instance"), done_);
  if (there_ != 0) text += fmt::format(", {} there already", there_);
  if (!refused_.empty()) text += fmt::format(", {} refused", refused_.size());
  if (status.ok() || taken_ + there_ + refused_.size() != 0) print("{}\n", text);
  for (const ImportedInstance& each : refused_) report(refusal(each, into_));
  if (status.ok()) return refused_.empty() ? 0 : kExitCannotRun;
  report(status);
  if (status.code() == Code::exhausted) print_error("what was {} stays: make room, and give the same command again\n", done_);
  return kExitCannotRun;
}

Status copy_recordings(const Path& from, const Path& into, TransferReport& told) {
  std::error_code ignored;
  if (std::filesystem::equivalent(from, into, ignored))
    return error(Code::invalid_argument, "{} and {} are the same database", from.string(), into.string());
  MNEME_ASSIGN(const Database source, Database::open(from));
  MNEME_ASSIGN(const Listing listing, source.list());
  MNEME_ASSIGN(Database database, Database::create(into));
  DatabaseImport import(database, [&](const ImportedInstance& instance) { told.add(instance); });
  MNEME_TRY(source.send(listing.kernels, import));
  return listing.damaged.empty() ? Status() : listing.damaged.front();
}

}  // namespace mneme::cli
