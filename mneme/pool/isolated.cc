#include "mneme/pool/isolated.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "mneme/base/activity.h"
#include "mneme/compile/crash_words.h"
#include "mneme/ir/module_ref.h"
#include "mneme/pool/isolated_messages.h"
#include "mneme/pool/setup.h"
#include "mneme/pool/warm_up.h"
#include "mneme/pool/worker_process.h"
#include "mneme/process/child.h"
#include "mneme/process/zygote.h"

extern char** environ;

namespace mneme {
namespace {

using Json = nlohmann::json;

// How long a process that has closed its connection may take to be reaped, and how often that is looked at.
constexpr std::chrono::seconds kReaping(30);
constexpr std::chrono::milliseconds kLook(2);

// In the forked process.
Result<ByteVector> perform(const IsolatedWork& work) {
  MNEME_ASSIGN(ir::Module parsed, ir::Module::parse(work.source, work.name));
  if (!work.pipeline) return parsed.bitcode();
  ir::ModuleRef module(std::move(parsed));
  MNEME_TRY(run_passes(module, *work.pipeline, work.options));
  auto bitcode = module.bitcode();
  if (!bitcode.ok()) return bitcode.status().with_context("after '" + *work.pipeline + "'");
  return bitcode;
}

void serve(const Json&, Channel channel) {
  auto message = channel.receive();
  if (!message.ok()) return;
  auto work = decode_isolated_work(std::move(*message));
  if (!work.ok()) return;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  limit_compile_memory(work->memory);
  write_words_when_crashing();
  ActivityScope scope(Activity::compiling);
  const IsolatedReply reply = perform(*work);
  std::fflush(nullptr);
  [[maybe_unused]] Status ignored = send(channel, reply);
}

// What a zygote has of the process that starts it, and its processes of the zygote.
std::string surroundings() {
  std::error_code failure;
  std::string all = std::filesystem::current_path(failure).string();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) (all += '\0') += *entry;
  return all;
}

// Thread-safe.
class LlvmZygote {
 public:
  // The one of this process.
  static Result<std::shared_ptr<LlvmZygote>> get() {
    std::scoped_lock lock(*current_mutex);
    std::string now = surroundings();
    std::shared_ptr<LlvmZygote>& place = *current;
    if (place && place->owner_ != ::getpid()) new auto(std::move(place));  // another process's, which must not be ended from here
    if (place && place->surroundings_ == now) return place;
    MNEME_ASSIGN(const Path command, worker_command());
    MNEME_ASSIGN(ZygoteProcess zygote, ZygoteProcess::start(command, {"worker", "--llvm"}));
    MNEME_TRY(zygote.channel().send(Json{{"protocol", kWorkerProtocol}}));
    return place = std::make_shared<LlvmZygote>(std::move(zygote), std::move(now));
  }
  static void replace(const std::shared_ptr<LlvmZygote>& lost) {
    std::scoped_lock lock(*current_mutex);
    if (*current == lost) current->reset();
  }

  LlvmZygote(ZygoteProcess zygote, std::string surroundings)
      : zygote_(std::move(zygote)), surroundings_(std::move(surroundings)), owner_(::getpid()) {}

  Result<std::pair<uint64_t, Channel>> fork(const LastWords& words) {
    std::scoped_lock lock(mutex_);
    take_ended();
    const uint64_t id = next_++;
    MNEME_ASSIGN(Channel channel, zygote_.fork_worker(id, Json::object(), words));
    ends_[id] = std::nullopt;
    return std::pair(id, std::move(channel));
  }
  void forget(uint64_t id) {
    std::scoped_lock lock(mutex_);
    ends_.erase(id);
  }
  void kill(uint64_t id) {
    std::scoped_lock lock(mutex_);
    [[maybe_unused]] Status ignored = zygote_.kill_worker(id);
  }
  // How it ended; nothing: it has not, or nobody knows.
  std::optional<WorkerProcessEnded> end_of(uint64_t id) {
    std::scoped_lock lock(mutex_);
    take_ended();
    return ends_[id];
  }
  // Why there is none any more.
  Status status() {
    std::scoped_lock lock(mutex_);
    return status_;
  }
  bool is_of_this_process() const { return owner_ == ::getpid(); }

 private:
  void take_ended() {
    auto all = zygote_.take_ended();
    if (!all.ok()) status_ = all.status();
    if (all.ok())
      for (const WorkerProcessEnded& one : *all)
        if (const auto run = ends_.find(one.id); run != ends_.end()) run->second = one;
  }

  // Never destroyed: it is used until the process ends.
  static inline std::mutex* const current_mutex = new std::mutex;
  static inline std::shared_ptr<LlvmZygote>* const current = new std::shared_ptr<LlvmZygote>;

  std::mutex mutex_;
  ZygoteProcess zygote_;
  Status status_;
  std::map<uint64_t, std::optional<WorkerProcessEnded>> ends_;  // of runs that somebody waits for
  uint64_t next_ = 1;
  std::string surroundings_;
  pid_t owner_;
};

}  // namespace

struct IsolatedRun::State {
  std::string what;
  std::shared_ptr<LlvmZygote> zygote;
  LastWords words;
  uint64_t id;
  Channel channel;
  std::optional<IsolatedReply> reply;
  bool ended = false;

  ~State() {
    if (!zygote->is_of_this_process()) {
      new auto(std::move(zygote));
      return;
    }
    if (!ended) zygote->kill(id);
    zygote->forget(id);
  }
};

IsolatedRun::IsolatedRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
IsolatedRun::IsolatedRun(IsolatedRun&&) noexcept = default;
IsolatedRun::~IsolatedRun() = default;

Result<IsolatedRun> IsolatedRun::begin(const IsolatedWork& work) {
  const std::string what = work.pipeline ? "running '" + *work.pipeline + "' on module " + work.name : "reading " + work.name;
  const auto fork = [&]() -> Result<std::unique_ptr<State>> {
    MNEME_ASSIGN(std::shared_ptr<LlvmZygote> zygote, LlvmZygote::get());
    MNEME_ASSIGN(LastWords words, LastWords::create());
    auto forked = zygote->fork(words);
    if (!forked.ok()) {
      LlvmZygote::replace(zygote);
      return forked.status();
    }
    auto& [id, channel] = *forked;
    return std::unique_ptr<State>(new State{what, zygote, std::move(words), id, std::move(channel), {}, false});
  };
  auto state = fork();
  if (!state.ok()) state = fork();  // the zygote may have been killed meanwhile
  if (!state.ok()) return state.status().with_context(what);
  [[maybe_unused]] Status told_by_end = send((*state)->channel, work);
  return IsolatedRun(std::move(*state));
}

bool IsolatedRun::wait(std::chrono::milliseconds time) {
  if (state_->ended) return true;
  pollfd event{state_->channel.descriptor(), POLLIN, 0};
  if (::poll(&event, 1, static_cast<int>(time.count())) <= 0) return false;
  const bool closed = !state_->channel.take_in().ok();
  if (auto message = state_->channel.next()) state_->reply = decode_isolated_reply(std::move(*message));
  return state_->ended = closed || state_->reply;
}

Result<IsolatedOutcome> IsolatedRun::end() {
  State& state = *state_;
  if (state.reply) {
    MNEME_TRY(state.reply->status());
    return IsolatedOutcome{**state.reply, state.words.all()};
  }
  std::optional<WorkerProcessEnded> status;
  const auto until = std::chrono::steady_clock::now() + kReaping;
  while (!(status = state.zygote->end_of(state.id)) && state.zygote->status().ok() && std::chrono::steady_clock::now() < until)
    ::poll(nullptr, 0, kLook.count());
  if (!status) {
    LlvmZygote::replace(state.zygote);
    return error(Code::unavailable, "{}: the process that does it was lost: {}", state.what, state.zygote->status().message());
  }
  if (!status->not_forked.empty()) return error(Code::unavailable, "{}: its process {}", state.what, status->not_forked);
  const CrashWords words = read_crash_words(state.words.all());
  const std::string last = telling_line(words.before);
  return error(Code::internal, "{}: its process {}{}{}", state.what, ProcessEnd(status->wait_status).describe(),
               words.pass.empty() ? "" : " in " + words.pass, last.empty() ? "" : ": " + last);
}

int run_llvm_worker_process(int descriptor) {
  Channel caller{Descriptor(descriptor)};
  auto message = caller.receive();
  if (!message.ok()) return 1;
  if (Status status = check_protocol(message->body); !status.ok()) {
    [[maybe_unused]] Status ignored = send(caller, ZygoteRefused{status.to_string()});
    return 1;
  }
  warm_llvm_up(DeviceKind::cpu, "x86-64-v3", "nvptx");
  run_zygote(std::move(caller), serve);
  return 0;
}

}  // namespace mneme
