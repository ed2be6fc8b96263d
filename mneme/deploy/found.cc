#include "mneme/deploy/found.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mneme/memory/recorded_addresses.h"
#include "mneme/pool/weights.h"
#include "mneme/replay/json_text.h"
#include "mneme/store/database.h"
#include "mneme/sweep/folder.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Result<Json> read_json(const Path& path, FileSystem& files) {
  MNEME_ASSIGN(const ByteVector bytes, files.read(path));
  Json json = json_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (json.is_object()) return json;
  return error(Code::corrupt, "{} is no JSON object", path.string());
}

// Where the database lies now: at its place, or where it lay as seen from the folder.
Path find_database(const Path& folder, const Json& plan, const Digest& static_hash, FileSystem& files) {
  const Path named = plan.at("database").get<std::string>();
  const auto holds = [&](const Path& database) { return files.exists(database / (static_hash.hex() + ".json")); };
  const auto from_here = plan.find("database_from_here");
  if (holds(named) || from_here == plan.end() || !from_here->is_string()) return named;
  const Path beside = std::filesystem::absolute(folder / from_here->get<std::string>()).lexically_normal();
  return holds(beside) ? beside : named;
}

Status read_plan(const Json& plan, FileSystem& files, FoundConfiguration& found) {
  MNEME_ASSIGN(found.static_hash, Digest::from_hex(plan.at("static_hash").get<std::string>()));
  MNEME_ASSIGN(found.device, parse_device_kind(plan.at("device").get<std::string>()));
  for (const Json& instance : plan.at("instances")) {
    MNEME_ASSIGN(const Digest hash, Digest::from_hex(instance.get<std::string>()));
    found.instances.push_back(hash);
  }
  found.weights.assign(found.instances.size(), 1);
  if (const auto weights = plan.find("weights"); weights != plan.end() && !weights->is_null()) {
    MNEME_ASSIGN(const Weights read, weights_from_json(*weights, found.instances.size()));
    found.weights = read.of;
  }
  found.database = find_database(found.folder, plan, found.static_hash, files);
  return {};
}

Status read_best(const Json& best, FoundConfiguration& found) {
  MNEME_ASSIGN(found.configuration, configuration_from_json(best.at("configuration")));
  found.claim = best.at("claim").get<std::string>();
  const Json& interval = best.at("interval");
  if (interval.is_null()) return {};
  found.speed_up = SpeedUp{best.at("speed_up").get<double>(), interval.at(0).get<double>(), interval.at(1).get<double>()};
  return {};
}

}  // namespace

Result<FoundConfiguration> read_found(const Path& folder, FileSystem& files) {
  const ResultsFolder results{folder};
  const Path plan_path = files.exists(results.tuning_plan()) ? results.tuning_plan() : results.plan();
  if (!files.exists(plan_path))
    return error(Code::not_found, "{} has no results: give a folder that `mneme sweep` or `mneme tune` has written",
                 folder.string());
  if (!files.exists(results.best()))
    return error(Code::not_found,
                 "{} has no best.json: nothing was found there, or the search was killed (--resume goes on with it)",
                 folder.string());
  MNEME_ASSIGN(const Json plan, read_json(plan_path, files));
  MNEME_ASSIGN(const Json best, read_json(results.best(), files));
  FoundConfiguration found{.folder = folder};
  try {
    if (Status status = read_plan(plan, files, found); !status.ok()) return status.with_context(plan_path.string());
    if (Status status = read_best(best, found); !status.ok()) return status.with_context(results.best().string());
  } catch (const Json::exception& failure) {
    return error(Code::corrupt, "{}: {}", folder.string(), failure.what());
  }
  return found;
}

HeldAddresses hold_addresses(const FoundConfiguration& found) {
  const auto database = Database::open(found.database);
  return database.ok() ? hold_recorded_addresses(*database, found.static_hash, found.instances) : HeldAddresses();
}

}  // namespace mneme
