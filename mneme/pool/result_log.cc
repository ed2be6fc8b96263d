#include "mneme/pool/result_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "mneme/base/output_file.h"
#include "mneme/base/regular_file.h"
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

// What takes the place of the log when it is whole.
Path fresh_of(const Path& log) { return log.string() + ".new"; }

// Names the log, whatever the file was called when it was made.
Status named(const Status& status, const Path& log) {
  std::string message = status.message();
  const std::string fresh = fresh_of(log).string();
  if (const size_t at = message.find(fresh); at != std::string::npos) message.replace(at, fresh.size(), log.string());
  return {status.code(), std::move(message)};
}

// The file of that name, locked while the descriptor is open. A file system without locks gives everybody the lock.
Result<Descriptor> lock_file(const Path& file, int flags, const Path& log) {
  for (;;) {
    auto opened = open_regular(file, flags, Links::refuse);
    if (!opened.ok()) return Status(Code::io, named(opened.status(), log).message());
    Descriptor lock = std::move(*opened);
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return error(Code::unavailable, "another run is writing {}: wait for its end, or choose another file", log.string());
    // Another may have renamed or removed it meanwhile.
    struct stat locked{}, there{};
    if (::fstat(lock.number(), &locked) == 0 && ::stat(file.c_str(), &there) == 0 && locked.st_ino == there.st_ino) return lock;
  }
}

}  // namespace

Result<LoggedRun> read_log(const Path& path, FileSystem& files) {
  MNEME_ASSIGN(ByteVector bytes, files.read(path));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  LoggedRun run;
  for (size_t line = 1; !text.empty(); ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // cut off
    Json json = json_in(text.substr(0, end));
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

Result<ResultLog> ResultLog::open_special(const Path& path, const Json& about) {
  ResultLog log;
  log.path_ = path;
  MNEME_ASSIGN(log.file_, open_special_file(path));
  MNEME_TRY(write_line(*log.file_, {{"mneme_log", kVersion}, {"about", about}}));
  return log;
}

// The lock of the new file keeps others from making one, and is that of the log once it has its name.
Result<ResultLog> ResultLog::open(const Path& path, const Json& about, Existing existing, FileSystem& files) {
  if (is_special_file(path)) return open_special(path, about);
  if (existing == Existing::refuse && files.exists(path))
    return error(Code::invalid_argument,
                 "writing results to {}: there are results already; resume that run, or choose another file", path.string());
  ResultLog log;
  MNEME_ASSIGN(log.path_, link_target(path));
  const Path fresh = fresh_of(log.path_);
  MNEME_ASSIGN(log.lock_, lock_file(fresh, O_RDWR | O_CREAT, log.path_));
  const Status begun = log.begin(about, files);
  if (begun.ok()) return log;
  [[maybe_unused]] Status ignored = files.remove(fresh);
  return named(begun, log.path_);
}

// Whole lines only, and never a moment without the old results: a new file takes the place of the old one.
Status ResultLog::begin(const Json& about, FileSystem& files) {
  LoggedRun run;
  if (files.exists(path_)) {
    MNEME_TRY(lock_file(path_, O_RDONLY, path_).status());  // else somebody writes it
    MNEME_ASSIGN(run, read_log(path_, files));
    if (!run.about.is_null() && without_place(run.about) != without_place(about))
      return error(Code::incompatible, "resuming {}: its results are about {}, not about {}", path_.string(),
                   json_text(run.about), json_text(about));
  }
  MNEME_ASSIGN(file_, files.create(fresh_of(path_)));
  MNEME_TRY(write_line(*file_, {{"mneme_log", kVersion}, {"about", about}}));
  for (PoolResult& result : run.results) {
    MNEME_TRY(write_line(*file_, to_json(result)));
    if (result.failure == Failure::cancelled || result.failure == Failure::worker_lost || !result.label.empty()) continue;
    result.origin = Origin::resumed;
    known_.insert_or_assign(whole_digest(result.configuration), std::move(result));
  }
  MNEME_TRY(file_->sync());
  MNEME_TRY(files.rename(fresh_of(path_), path_));
  return files.sync_directory(folder_of(path_));
}

Status ResultLog::append(const PoolResult& result, const Json& configuration, const Digest& whole_digest) {
  if (!file_) return {};
  Status written = write_line(*file_, to_json(result, configuration, whole_digest));
  if (written.ok()) return {};
  file_.reset();  // nothing may stand behind half a line
  return named(written, path_);
}

}  // namespace mneme
