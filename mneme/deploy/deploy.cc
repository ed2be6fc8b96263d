#include "mneme/deploy/deploy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <variant>

#include "mneme/deploy/conditions.h"
#include "mneme/deploy/in_turn.h"
#include "mneme/deploy/promise.h"
#include "mneme/device/backend.h"
#include "mneme/ir/block_use.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/json_text.h"
#include "mneme/replay/session.h"
#include "mneme/store/database.h"

namespace mneme {
namespace {

// "580.95.05"; empty where the system does not tell, or the device needs no driver.
std::string driver_version(DeviceKind kind) {
  std::ifstream file{std::string(backend_of(kind).driver_version_file)};
  for (std::string word; file >> word;)
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos)
      return word;
  return "";
}

Status not_faster(const Promise& promise) {
  const SpeedUp& speed_up = promise.speed_up;
  return error(Code::unsupported, "{}: {:.3f} times as fast ({:.3f} to {:.3f}, 95 %), which is not surely faster",
               promise.measured, speed_up.value, speed_up.low, speed_up.high);
}

// The code for one instance: which launches it would run in, and what it came to on this one.
struct DeployableLaunch {
  TunedKernel kernel;  // with all of the evidence but the speed-up and the times
  ByteVector code;
  LaunchTimes times;
  Status right;  // why it was not right on the instance, or could not be measured there

  bool same_code(const DeployableLaunch& other) const { return kernel.same_place(other.kernel) && code == other.code; }
};

// Compiles, verifies and measures the found configuration on one instance.
class InstanceDeployment {
 public:
  InstanceDeployment(const FoundConfiguration& found, const DeployTerms& terms, Session& session)
      : found_(found), terms_(terms), session_(session) {}

  // Failures are those of one that cannot be compiled, of which it is not known which launches it would run in.
  Result<DeployableLaunch> run(double weight) {
    MNEME_ASSIGN(const ProgramCompilation made, session_.compile_for_program(found_.configuration));
    DeployableLaunch launch;
    MNEME_ASSIGN(launch.kernel, describe(made));
    launch.code = made.code.image.bytes;
    launch.times.weight = weight;
    launch.right = measure(made, launch.times.states);
    return launch;
  }

 private:
  Status measure(const ProgramCompilation& made, std::vector<TimesInTurn>& states) {
    const CacheState searched = found_.configuration.execution.l2;
    const bool alone = found_.instances.size() == 1;
    // Over several instances the search has measured the speed-up of all together, which need not be that of those that one code
    // covers.
    const bool by_search = found_.speed_up && made.variables.empty() && alone;
    MNEME_ASSIGN(const double tuned, median_of(session_.measure(found_.configuration, made.code)));
    for (const CacheState state : states_that_count(terms_, searched, session_.device().properties().kind)) {
      TimesInTurn& times = states.emplace_back(TimesInTurn{state, {}, {}, {}});
      if (state == searched && by_search) {
        times.found = {tuned};
        times.by_search = found_.speed_up;
      } else {
        MNEME_TRY(measure_in_turn(made, times));
      }
      // What is not faster alone is left out whatever the other states tell.
      const LaunchTimes so_far{1, {times}};
      if (alone && terms_.unconfirmed == Unconfirmed::leave_out && promise_of({&so_far, 1}).speed_up.low <= 1) break;
    }
    return {};
  }

  Status measure_in_turn(const ProgramCompilation& made, TimesInTurn& times) {
    Configuration found = found_.configuration;
    found.execution.l2 = times.state;
    const Configuration recorded = baseline_of(found);
    // Compiled before, so that nothing but the launches tells the two apart.
    MNEME_ASSIGN(const CompiledCode recorded_code, session_.compile_ahead(recorded));
    const auto measure = [&](const Configuration& configuration, const CompiledCode& code, std::vector<double>& into) -> Status {
      MNEME_ASSIGN(const double time, median_of(session_.measure(configuration, code)));
      into.push_back(time);
      return {};
    };
    for (unsigned round = 0; round < kRoundsInTurn; ++round) {
      if (round % 2 == 0) MNEME_TRY(measure(recorded, recorded_code, times.recorded));
      MNEME_TRY(measure(found, made.code, times.found));
      if (round % 2 != 0) MNEME_TRY(measure(recorded, recorded_code, times.recorded));
    }
    return {};
  }

  // IR that cannot be looked through says nothing of blocks.
  BlockUse block_use() const {
    const auto code = session_.code_of({});
    const auto ignored = code.ok() ? ir::ignores_blocks(**code, session_.kernel().name) : Result<bool>(false);
    return ignored.ok() && *ignored ? BlockUse::none : BlockUse::unknown;
  }

  Result<TunedKernel> describe(const ProgramCompilation& made) {
    const KernelRecord& kernel = session_.kernel();
    const DeviceProperties& device = session_.device().properties();
    TunedKernel tuned;
    tuned.evidence.instances = {session_.instance().dynamic_hash};
    tuned.evidence.device_name = device.name;
    tuned.evidence.mneme = MNEME_VERSION;
    tuned.evidence.assembler = made.code.assembler;
    tuned.evidence.driver = driver_version(device.kind);
    tuned.evidence.configuration = json_text(to_json(found_.configuration));
    tuned.static_hash = kernel.static_hash;
    tuned.name = kernel.name;
    tuned.demangled = kernel.demangled;
    tuned.device = to_string(device.kind);
    tuned.architecture = device.architecture;
    tuned.rule = rule_of(found_.configuration, session_.instance(), made.shape, block_use());
    tuned.variables = made.variables;
    MNEME_ASSIGN(const auto tolerated,
                 resolve_tolerances(found_.configuration.tolerance, kernel, session_.instance(), session_.plan()));
    tuned.tolerances = tolerances_of(tolerated, kernel, session_.instance(), session_.plan(), made.variables);
    const ir::Module* code = nullptr;
    if (session_.has_ir()) {
      MNEME_ASSIGN(code, session_.code_of({}));
    }
    tuned.repeatable = repeatable(code, made.code.image.bytes, session_.plan().textures);
    add_conditions(made.specialisation, kernel, session_.instance(), session_.plan(), tuned);
    return tuned;
  }

  const FoundConfiguration& found_;
  const DeployTerms& terms_;
  Session& session_;
};

// Launches that the same code would run in, which are deployed together or not at all.
class SamePlace {
 public:
  explicit SamePlace(const DeployableLaunch& first) : launches_{&first}, asking_least_(&first) {}

  // False also where neither asks for less of the pointers, so that neither's conditions hold for both.
  bool has(const DeployableLaunch& launch) const {
    const TunedKernel& known = asking_least_->kernel;
    return asking_least_->same_code(launch) && (asks_no_more(known, launch.kernel) || asks_no_more(launch.kernel, known));
  }
  void add(const DeployableLaunch& launch) {
    launches_.push_back(&launch);
    if (asks_no_more(launch.kernel, asking_least_->kernel)) asking_least_ = &launch;
  }
  // Whether it is for the same launches as another, of whose code it takes the place.
  bool is_that_of(const SamePlace& other) const { return launches_.front()->kernel.same_place(other.launches_.front()->kernel); }

  // Why the code cannot be in the file; ok: it is. Code that is wrong on one of its launches is not for the others either.
  Status deploy(const DeployTerms& terms, TunedFile& into) const {
    TunedKernel kernel = asking_least_->kernel;
    std::vector<Digest>& instances = kernel.evidence.instances;
    instances.clear();
    std::vector<LaunchTimes> times;
    for (const DeployableLaunch* launch : launches_) {
      const Digest& instance = launch->kernel.evidence.instances.front();
      if (!launch->right.ok()) return launches_.size() == 1 ? launch->right : launch->right.with_context("on " + instance.hex());
      instances.push_back(instance);
      times.push_back(launch->times);
    }
    const Promise promise = promise_of(times);
    if (promise.speed_up.low <= 1 && terms.unconfirmed == Unconfirmed::leave_out) return not_faster(promise);
    kernel.evidence.speed_up = promise.speed_up;
    kernel.evidence.confirmed = promise.confirmed;
    kernel.evidence.tuned = promise.tuned;
    kernel.evidence.baseline = promise.tuned * promise.speed_up.value;
    into.add(std::move(kernel), asking_least_->code);
    return {};
  }

 private:
  std::vector<const DeployableLaunch*> launches_;
  const DeployableLaunch* asking_least_;  // whose conditions hold for all of them
};

}  // namespace

Configuration baseline_of(const Configuration& found) {
  Configuration baseline;
  baseline.execution = found.execution;
  baseline.tolerance = found.tolerance;
  baseline.verdict = found.verdict;
  return baseline;
}

Result<double> median_of(const ReplayResult& result) {
  MNEME_TRY(result.failure);
  if (!result.verified) return error(Code::unsupported, "not verified: {}", describe_wrong(result));
  return statistics_of(result.exec_time).median.count();
}

std::vector<CacheState> states_that_count(const DeployTerms& terms, CacheState searched, DeviceKind device) {
  if (terms.l2) return {*terms.l2};
  std::vector<CacheState> states = {searched};
  if (terms.unconfirmed == Unconfirmed::take || backend_of(device).hardware == Hardware::host) return states;
  for (const auto& [_, state] : kCacheNames)
    if (state != searched) states.push_back(state);
  return states;
}

Result<std::vector<Deployed>> deploy(const FoundConfiguration& found, Device& device, const DeployTerms& terms, TunedFile& into,
                                     const std::function<void(const std::string&)>& progress) {
  MNEME_ASSIGN(const Database database, Database::open(found.database));
  MNEME_ASSIGN(const KernelRecord kernel, database.load_kernel(found.static_hash));
  std::vector<Deployed> all;
  std::map<size_t, DeployableLaunch> launches;  // by their place in `all`
  for (size_t i = 0; i < found.instances.size(); ++i) {
    Deployed& one = all.emplace_back(Deployed{found.folder, kernel.demangled, found.instances[i], {}});
    if (progress) progress(fmt::format("deploying {}", kernel.demangled));
    auto session = Session::prepare(database, found.static_hash, one.instance, device);
    auto launch = session.ok() ? InstanceDeployment(found, terms, **session).run(found.weights[i]) : session.status();
    one.left_out = launch.ok() ? launch->right : launch.status();
    if (one.left_out.code() == Code::device_fault) return one.left_out.with_context(found.folder.string());
    if (launch.ok()) launches.emplace(i, std::move(*launch));
  }
  std::vector<SamePlace> places;
  std::map<size_t, size_t> place_of;
  for (const auto& [i, launch] : launches) {
    const auto known = std::find_if(places.begin(), places.end(), [&](const SamePlace& place) { return place.has(launch); });
    place_of[i] = static_cast<size_t>(known - places.begin());
    if (known == places.end())
      places.emplace_back(launch);
    else
      known->add(launch);
  }
  std::vector<Status> outcomes;
  for (const SamePlace& place : places) {
    outcomes.push_back(place.deploy(terms, into));
    if (!outcomes.back().ok()) continue;
    for (size_t earlier = 0; earlier + 1 < outcomes.size(); ++earlier)
      if (outcomes[earlier].ok() && place.is_that_of(places[earlier]))
        outcomes[earlier] = error(
            Code::unsupported, "the code for a later one of the launches has its place: it is other code, for the same launches");
  }
  for (const auto& [i, place] : place_of) all[i].left_out = outcomes[place];
  return all;
}

Result<TunedFile> read_tuned(const Path& path, FileSystem& files) {
  MNEME_ASSIGN(const ByteVector bytes, files.read(path));
  return decode_tuned(bytes, path.string());
}

Result<Deployment> deploy_all(const std::vector<std::string>& results, const DeployTerms& terms,
                              const std::function<void(const std::string&)>& progress) {
  std::vector<std::variant<TunedFile, FoundConfiguration>> all_read;
  std::vector<HeldAddresses> held;  // of all folders, before any device is opened
  for (const std::string& path : results) {
    if (!std::filesystem::is_directory(path)) {
      MNEME_ASSIGN(TunedFile earlier, read_tuned(path));
      all_read.emplace_back(std::move(earlier));
      continue;
    }
    MNEME_ASSIGN(FoundConfiguration found, read_found(path));
    held.push_back(hold_addresses(found));
    all_read.emplace_back(std::move(found));
  }
  Deployment all;
  std::map<DeviceKind, std::unique_ptr<Device>> devices;
  for (const auto& read : all_read) {
    if (const auto* earlier = std::get_if<TunedFile>(&read)) {
      all.file.add(*earlier);
      continue;
    }
    const auto& found = std::get<FoundConfiguration>(read);
    std::unique_ptr<Device>& device = devices[found.device];
    if (!device) {
      MNEME_ASSIGN(device, Device::open(found.device));
    }
    MNEME_ASSIGN(const std::vector<Deployed> outcomes, deploy(found, *device, terms, all.file, progress));
    all.outcomes.insert(all.outcomes.end(), outcomes.begin(), outcomes.end());
  }
  return all;
}

}  // namespace mneme
