#include "mneme/deploy/deploy.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <variant>

#include "mneme/deploy/conditions.h"
#include "mneme/deploy/in_turn.h"
#include "mneme/device/backend.h"
#include "mneme/ir/block_use.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/json_text.h"
#include "mneme/replay/session.h"
#include "mneme/store/database.h"

namespace mneme {
namespace {

// The quantile of Student's distribution for one degree of freedom less than there are rounds.
constexpr double kStudent = 2.447;

// "580.95.05"; empty where the system does not tell, or the device needs no driver.
std::string driver_version(DeviceKind kind) {
  std::ifstream file{std::string(backend_of(kind).driver_version_file)};
  for (std::string word; file >> word;)
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos)
      return word;
  return "";
}

Status not_faster(const SpeedUp& speed_up, std::string_view who) {
  return error(Code::unsupported, "{}: {:.3f} times as fast ({:.3f} to {:.3f}, 95 %), which is not surely faster", who,
               speed_up.value, speed_up.low, speed_up.high);
}

// Deploys one instance.
class InstanceDeployment {
 public:
  InstanceDeployment(const FoundConfiguration& found, const DeployTerms& terms, Session& session)
      : found_(found), terms_(terms), session_(session) {}

  Status run(TunedFile& into) {
    MNEME_ASSIGN(const ProgramCompilation made, session_.compile_for_program(found_.configuration));
    MNEME_ASSIGN(evidence_.tuned, median_of(session_.measure(found_.configuration, made.code)));
    MNEME_TRY(take_speed_up(made));
    MNEME_ASSIGN(TunedKernel kernel, describe(made));
    // Of launches that are the same to the rule, one after another is verified.
    for (const TunedKernel& known : into.kernels)
      if (known.same_place(kernel) && into.images[known.image] == made.code.image.bytes)
        kernel.evidence.instances.insert(kernel.evidence.instances.begin(), known.evidence.instances.begin(),
                                         known.evidence.instances.end());
    into.add(std::move(kernel), made.code.image.bytes);
    return {};
  }

 private:
  // By rounds in which the launch as recorded and the deployed code run in turn.
  struct InTurn {
    SpeedUp speed_up;
    double tuned = 0;  // median of the medians, in nanoseconds
  };

  // The least of all states that count is what is promised.
  Status take_speed_up(const ProgramCompilation& made) {
    const CacheState searched = found_.configuration.execution.l2;
    // Over several instances the search has measured the speed-up of all together, which need not be that of each.
    const bool by_search = found_.speed_up && made.variables.empty() && found_.instances.size() == 1;
    bool first = true;
    for (const CacheState state : states_that_count(terms_, searched, session_.device().properties().kind)) {
      const bool known = state == searched && by_search;
      MNEME_ASSIGN(const InTurn measured,
                   known ? Result<InTurn>(InTurn{*found_.speed_up, evidence_.tuned}) : measure_in_turn(made, state));
      const SpeedUp& speed_up = measured.speed_up;
      if (!first && speed_up.low >= evidence_.speed_up.low) continue;
      first = false;
      evidence_.speed_up = speed_up;
      evidence_.tuned = measured.tuned;
      evidence_.confirmed = known || speed_up.low > 1;
      if (speed_up.low > 1 || terms_.unconfirmed == Unconfirmed::take) continue;
      return not_faster(speed_up, known ? "by the search" : fmt::format("measured in turn here{}", with(state)));
    }
    evidence_.baseline = evidence_.tuned * evidence_.speed_up.value;
    return {};
  }

  // " with --l2 warm"; nothing for what needs no option.
  static std::string with(CacheState state) {
    return state == CacheState::as_it_comes ? "" : fmt::format(" with --l2 {}", to_string(state));
  }

  Result<InTurn> measure_in_turn(const ProgramCompilation& made, CacheState state) {
    Configuration found = found_.configuration;
    found.execution.l2 = state;
    const Configuration recorded = baseline_of(found);
    // Compiled before, so that nothing but the launches tells the two apart.
    MNEME_ASSIGN(const CompiledCode recorded_code, session_.compile_ahead(recorded));
    std::vector<double> before, after;
    const auto measure = [&](const Configuration& configuration, const CompiledCode& code, std::vector<double>& times) -> Status {
      MNEME_ASSIGN(const double time, median_of(session_.measure(configuration, code)));
      times.push_back(time);
      return {};
    };
    for (unsigned round = 0; round < kRoundsInTurn; ++round) {
      if (round % 2 == 0) MNEME_TRY(measure(recorded, recorded_code, before));
      MNEME_TRY(measure(found, made.code, after));
      if (round % 2 != 0) MNEME_TRY(measure(recorded, recorded_code, before));
    }
    const SpeedUp speed_up = speed_up_of(before, after);
    std::nth_element(after.begin(), after.begin() + kRoundsInTurn / 2, after.end());
    return InTurn{speed_up, after[kRoundsInTurn / 2]};
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
    evidence_.instances = {session_.instance().dynamic_hash};
    evidence_.device_name = device.name;
    evidence_.mneme = MNEME_VERSION;
    evidence_.assembler = made.code.assembler;
    evidence_.driver = driver_version(device.kind);
    evidence_.configuration = json_text(to_json(found_.configuration));
    TunedKernel tuned;
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
    tuned.evidence = evidence_;
    add_conditions(made.specialisation, kernel, session_.instance(), session_.plan(), tuned);
    return tuned;
  }

  const FoundConfiguration& found_;
  const DeployTerms& terms_;
  Session& session_;
  Evidence evidence_;
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

SpeedUp speed_up_of(const std::vector<double>& baseline, const std::vector<double>& tuned) {
  std::vector<double> ratios;
  for (size_t i = 0; i < baseline.size(); ++i) ratios.push_back(std::log(baseline[i] / tuned[i]));
  const auto count = static_cast<double>(ratios.size());
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count;
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  const double half = kStudent * std::sqrt(squares / (count - 1) / count);
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

Result<std::vector<Deployed>> deploy(const FoundConfiguration& found, Device& device, const DeployTerms& terms, TunedFile& into,
                                     const std::function<void(const std::string&)>& progress) {
  MNEME_ASSIGN(const Database database, Database::open(found.database));
  MNEME_ASSIGN(const KernelRecord kernel, database.load_kernel(found.static_hash));
  std::vector<Deployed> all;
  for (const Digest& instance : found.instances) {
    Deployed& one = all.emplace_back(Deployed{found.folder, kernel.demangled, {}});
    if (progress) progress(fmt::format("deploying {}", kernel.demangled));
    auto session = Session::prepare(database, found.static_hash, instance, device);
    one.left_out = session.ok() ? InstanceDeployment(found, terms, **session).run(into) : session.status();
    if (one.left_out.code() == Code::device_fault) return one.left_out.with_context(found.folder.string());
  }
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
