#include "mneme/cli/options/recorded_session.h"

#include "mneme/base/shown.h"
#include "mneme/cli/progress.h"
#include "mneme/memory/recorded_addresses.h"

namespace mneme::cli {

void RecordedSessionOptions::declare(CLI::App& app, ConfigurationOptions& configuration) {
  recorded_.declare(app, &configuration);
  device_.declare(app, "auto: the first that is there");
  app.add_option("--dtype", types_,
                 "what a buffer holds, as 'BUFFER:TYPE', where the recorded code does not tell; may be repeated")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("TEXT");
  cache_.declare(app);
}

Result<std::unique_ptr<RecordedSession>> RecordedSession::open(const RecordedSessionOptions& options,
                                                               const Configuration& configuration, const std::string& no_mask) {
  auto opened = std::make_unique<RecordedSession>();
  MNEME_TRY(check_files(configuration, FileSystem::posix()));
  MNEME_ASSIGN(RecordedLaunches recorded, options.recorded_.launches());
  opened->database_ = std::make_unique<Database>(std::move(recorded.database));
  MNEME_ASSIGN(auto cache, options.cache_.open());
  const Digest& kernel = recorded.kernel.kernel.static_hash;
  const HeldAddresses held = hold_recorded_addresses(*opened->database_, kernel, recorded.instances);
  MNEME_ASSIGN(opened->device_, options.device_.open());
  Progress line;
  auto show = [&](std::string_view what, double done) { line.stage(fmt::format("{}: {:.0f} %", what, 100 * done)); };
  RecordedCopies copies;
  copies.no_mask = no_mask;
  MNEME_ASSIGN(opened->session_,
               Session::prepare(*opened->database_, kernel, recorded.instances[0], *opened->device_, show, std::move(copies)));
  if (cache) opened->session_->use_cache(std::move(cache));
  MNEME_TRY(opened->find_ranges(options, configuration));
  return opened;
}

Status RecordedSession::find_ranges(const RecordedSessionOptions& options, const Configuration& configuration) {
  Session& s = *session_;
  std::vector<BufferType> types;
  for (const std::string& text : options.types_) {
    MNEME_ASSIGN(BufferType type, parse_buffer_type(text));
    types.push_back(std::move(type));
  }
  MNEME_ASSIGN(auto tolerances, resolve_tolerances(configuration.tolerance, s.kernel(), s.instance(), s.plan()));
  ir::AccessTypes accesses;  // none are known without IR
  if (s.has_ir()) {
    MNEME_ASSIGN(const ir::Module* code, s.code_of({}));
    MNEME_ASSIGN(accesses, ir::access_types(*code, s.kernel().name));
  }
  MNEME_ASSIGN(ranges_, typed_ranges_of(s.kernel(), s.instance(), s.plan(), tolerances, accesses, types));
  return {};
}

std::string RecordedSession::title() const {
  return fmt::format("{} on {}", shown(session_->kernel().demangled), device_->properties().name);
}

}  // namespace mneme::cli
