#include "mneme/pool/result_log.h"

#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

Status write_line(WritableFile& file, const Json& json) {
  const std::string line = json_text(json) + "\n";
  return file.append(std::as_bytes(std::span(line)));
}

// Where a database lies says nothing of what is in it, which the hashes tell.
Json without_place(Json about) {
  if (about.is_object()) about.erase("database");
  return about;
}

bool is_header(const Json& json) { return json.is_object() && json.contains("mneme_log") && json.contains("about"); }

}  // namespace

Result<LoggedRun> read_log(const Path& path, FileSystem& files) {
  MNEME_ASSIGN(ByteVector bytes, files.read(path));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  LoggedRun run;
  for (size_t line = 1; !text.empty(); ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // cut off
    Json json = Json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    text.remove_prefix(end + 1);
    if (line == 1) {
      if (!is_header(json)) return error(Code::corrupt, "reading the results in {}: this is no log of Mneme", path.string());
      if (json["mneme_log"] != kVersion)
        return error(Code::incompatible, "reading the results in {}: its version is {}, and {} is known", path.string(),
                     json_text(json["mneme_log"]), kVersion);
      run.about = json["about"];
      continue;
    }
    auto result = pool_result_from_json(json);
    if (!result.ok()) return result.status().with_context(fmt::format("reading line {} of {}", line, path.string()));
    run.results.push_back(std::move(*result));
  }
  return run;
}

Result<ResultLog> ResultLog::open(const Path& path, const Json& about, Existing existing, FileSystem& files) {
  ResultLog log;
  LoggedRun run;
  if (files.exists(path)) {
    if (existing == Existing::refuse)
      return error(Code::invalid_argument,
                   "writing results to {}: there are results already; resume that run, or choose another file", path.string());
    MNEME_ASSIGN(run, read_log(path, files));
    if (!run.about.is_null() && without_place(run.about) != without_place(about))
      return error(Code::incompatible, "resuming {}: its results are about {}, not about {}", path.string(), json_text(run.about),
                   json_text(about));
  }
  // Whole lines only, and never a moment without the old results: a new file takes the place of the old one.
  const Path fresh = path.string() + ".new";
  MNEME_ASSIGN(log.file_, files.create(fresh));
  MNEME_TRY(write_line(*log.file_, {{"mneme_log", kVersion}, {"about", about}}));
  for (PoolResult& result : run.results) {
    MNEME_TRY(write_line(*log.file_, to_json(result)));
    if (result.failure == Failure::cancelled || result.failure == Failure::worker_lost || !result.label.empty()) continue;
    result.origin = Origin::resumed;
    log.known_.insert_or_assign(whole_digest(result.configuration), std::move(result));
  }
  MNEME_TRY(log.file_->sync());
  MNEME_TRY(files.rename(fresh, path));
  return log;
}

Status ResultLog::append(const PoolResult& result, const Json& configuration, const Digest& whole_digest) {
  if (!file_) return {};
  Status written = write_line(*file_, to_json(result, configuration, whole_digest));
  if (!written.ok()) file_.reset();  // nothing may stand behind half a line
  return written;
}

}  // namespace mneme
