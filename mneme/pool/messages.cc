#include "mneme/pool/messages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "mneme/process/message_members.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kStop = "stop";
constexpr std::array<std::string_view, 3> kRoles = {"compile", "device", "keeper"};

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

ObjectHandle first_of(std::vector<Descriptor>& descriptors) {
  return descriptors.empty() ? nullptr : std::make_shared<Descriptor>(std::move(descriptors[0]));
}

std::vector<int> numbers_of(const ObjectHandle& object) { return object ? std::vector{object->number()} : std::vector<int>(); }

Status send_copies(Channel& channel, const InstanceCopies& message) {
  std::vector<int> numbers;
  for (const Descriptor& descriptor : message.copies->descriptors) numbers.push_back(descriptor.number());
  return channel.send({{"type", "copies"}, {"instance", message.instance}, {"copies", message.copies->description}}, numbers);
}

InstanceCopies read_copies(MessageMembers& members, std::vector<Descriptor> descriptors) {
  InstanceCopies read;
  read.instance = members.number("instance");
  read.copies = std::make_shared<SharedCopies>(SharedCopies{members.any("copies"), std::move(descriptors)});
  return read;
}

// A worker may not say that its job ended well unless it has measured it.
JobEnded read_end(MessageMembers& members, WorkerRole role) {
  JobEnded end;
  end.id = members.number("id");
  const auto failure = parse_failure(members.text("failure"));
  if (!failure || (role == WorkerRole::compile && *failure == Failure::none)) members.refuse("failure");
  end.result.failure = failure.value_or(Failure::worker_lost);
  end.result.reason = members.text("reason");
  if (auto details = result_details_from_json(members.object("details")); details.ok())
    end.result.details = std::move(*details);
  else
    members.refuse("details");
  return end;
}

// What a compile worker tells of its work becomes part of results: see add_compilation().
bool is_about_compiling(const Json& about) {
  ResultDetails details;
  return add_compilation(details, about).ok();
}

CodeTranslated read_translated(MessageMembers& members) {
  CodeTranslated translated{members.number("id"), members.text("digest"), members.object("about")};
  if (!is_about_compiling(translated.about)) members.refuse("about");
  return translated;
}

CodeAssembled read_assembled(MessageMembers& members, std::vector<Descriptor> descriptors) {
  CodeAssembled assembled{members.number("id"), members.object("description"), first_of(descriptors)};
  if (!assembled.description.contains("digest") || !assembled.description["digest"].is_string() ||
      !is_about_compiling(assembled.description))
    members.refuse("description");
  return assembled;
}

JobTimed read_times(MessageMembers& members) {
  JobTimed timed{members.number("id"), {}};
  for (double time : members.numbers("times")) timed.times.emplace_back(time);
  return timed;
}

std::optional<FromWorker> read_from_any(const std::string& type, MessageMembers& members) {
  if (type == "ready") return WorkerReady();
  if (type == "refused") return WorkerRefused{members.text("reason")};
  return std::nullopt;
}

std::optional<FromWorker> read_from_compiler(const std::string& type, MessageMembers& members,
                                             std::vector<Descriptor> descriptors) {
  if (type == "translating") return TranslationBegan{members.number("id")};
  if (type == "translated") return read_translated(members);
  if (type == "joined") return JobsJoined{members.number("id")};
  if (type == "assembled") return read_assembled(members, std::move(descriptors));
  if (type == "ended") return read_end(members, WorkerRole::compile);
  return std::nullopt;
}

std::optional<FromWorker> read_from_device(const std::string& type, MessageMembers& members,
                                           std::vector<Descriptor> descriptors) {
  if (type == "began") return JobBegan{members.number("id")};
  if (type == "loading") return JobLoading{members.number("id")};
  if (type == "timed") return read_times(members);
  if (type == "ended") return read_end(members, WorkerRole::device);
  if (type == "device") return DeviceOpened{members.text("name"), members.text("architecture")};
  if (type == "copies") return read_copies(members, std::move(descriptors));
  if (type == "mask_lost") return MaskLost{members.text("reason")};
  if (type == "exhausted") return WorkerExhausted{members.text("reason")};
  return std::nullopt;
}

std::optional<ToWorker> read_to_worker(const std::string& type, MessageMembers& members, std::vector<Descriptor> descriptors) {
  if (type == "compile")
    return CompileJob{members.number("id"), members.any("configuration"), members.flag("assemble"), members.flag("alone")};
  if (type == "assemble") return AssembleAnswer{members.flag("assemble")};
  if (type == "measure")
    return MeasureJob{members.number("id"), members.any("configuration"), members.any("code"), first_of(descriptors),
                      members.flag("alone")};
  if (type == kStop) return StopJob{members.number("id")};
  if (type == "copies") return read_copies(members, std::move(descriptors));
  return std::nullopt;
}

Json body_of(const TranslationBegan& job) { return {{"type", "translating"}, {"id", job.id}}; }

Json body_of(const JobBegan& job) { return {{"type", "began"}, {"id", job.id}}; }

Json body_of(const JobEnded& job) {
  return {{"type", "ended"},
          {"id", job.id},
          {"failure", to_string(job.result.failure)},
          {"reason", job.result.reason},
          {"details", to_json(job.result.details)}};
}

// What was read, once all of it was there.
template <typename Read>
Result<Read> whole(std::optional<Read> read, MessageMembers& members) {
  if (!read) members.refuse("type");
  MNEME_TRY(members.status());
  return std::move(*read);
}

}  // namespace

std::string_view to_string(WorkerRole role) { return kRoles[static_cast<size_t>(role)]; }

Status send(Channel& channel, ToWorker message) {
  return std::visit(
      Overloaded{
          [&](CompileJob& job) {
            return channel.send({{"type", "compile"},
                                 {"id", job.id},
                                 {"configuration", std::move(job.configuration)},
                                 {"assemble", job.assemble},
                                 {"alone", job.alone}});
          },
          [&](AssembleAnswer& answer) { return channel.send({{"type", "assemble"}, {"assemble", answer.assemble}}); },
          [&](MeasureJob& job) {
            return channel.send({{"type", "measure"},
                                 {"id", job.id},
                                 {"configuration", std::move(job.configuration)},
                                 {"code", std::move(job.code)},
                                 {"alone", job.alone}},
                                numbers_of(job.object));
          },
          [&](StopJob& stop) { return channel.send({{"type", kStop}, {"id", stop.id}}); },
          [&](InstanceCopies& copies) { return send_copies(channel, copies); },
      },
      message);
}

Status send(Channel& channel, FromWorker message) {
  return std::visit(
      Overloaded{
          [&](WorkerReady&) { return channel.send({{"type", "ready"}}); },
          [&](WorkerRefused& refused) { return channel.send({{"type", "refused"}, {"reason", refused.reason}}); },
          [&](DeviceOpened& device) {
            return channel.send({{"type", "device"}, {"name", device.name}, {"architecture", device.architecture}});
          },
          [&](MaskLost& lost) { return channel.send({{"type", "mask_lost"}, {"reason", lost.reason}}); },
          [&](WorkerExhausted& exhausted) { return channel.send({{"type", "exhausted"}, {"reason", exhausted.reason}}); },
          [&](InstanceCopies& copies) { return send_copies(channel, copies); },
          [&](CodeTranslated& translated) {
            return channel.send({{"type", "translated"},
                                 {"id", translated.id},
                                 {"digest", translated.digest},
                                 {"about", std::move(translated.about)}});
          },
          [&](CodeAssembled& code) {
            return channel.send({{"type", "assembled"}, {"id", code.id}, {"description", std::move(code.description)}},
                                numbers_of(code.object));
          },
          [&](JobLoading& job) { return channel.send({{"type", "loading"}, {"id", job.id}}); },
          [&](TranslationBegan& job) { return channel.send(body_of(job)); },
          [&](JobsJoined& jobs) { return channel.send({{"type", "joined"}, {"id", jobs.id}}); },
          [&](JobBegan& job) { return channel.send(body_of(job)); },
          [&](JobTimed& job) {
            Json times = Json::array();
            for (Nanoseconds time : job.times) times.push_back(time.count());
            return channel.send({{"type", "timed"}, {"id", job.id}, {"times", std::move(times)}});
          },
          [&](JobEnded& job) { return channel.send(body_of(job)); },
      },
      message);
}

void send_later(Channel& channel, const TranslationBegan& job) { channel.send_later(body_of(job)); }
void send_later(Channel& channel, const JobBegan& job) { channel.send_later(body_of(job)); }
void send_later(Channel& channel, const JobEnded& job) { channel.send_later(body_of(job)); }

bool may_have_stop(const Channel& channel) { return channel.mentions(kStop); }

Result<ToWorker> decode_to_worker(Message message) {
  MessageMembers members(std::move(message.body));
  const std::string type = members.text("type");
  return whole(read_to_worker(type, members, std::move(message.descriptors)), members);
}

Result<FromWorker> decode_from_worker(WorkerRole role, Message message) {
  MessageMembers members(std::move(message.body));
  const std::string type = members.text("type");
  auto read = read_from_any(type, members);
  if (!read && role == WorkerRole::compile) read = read_from_compiler(type, members, std::move(message.descriptors));
  if (!read && role == WorkerRole::device) read = read_from_device(type, members, std::move(message.descriptors));
  return whole(std::move(read), members);
}

Json to_json(const WorkerOrder& order) {
  return {{"role", to_string(order.role)},
          {"device", static_cast<unsigned>(order.device)},
          {"architecture", order.architecture},
          {"no_mask", order.no_mask},
          {"copies", order.copies}};
}

Result<WorkerOrder> worker_order_from_json(const Json& json) {
  MessageMembers members(json);
  WorkerOrder order;
  const std::string role = members.text("role");
  const auto found = std::find(kRoles.begin(), kRoles.end(), role);
  if (found == kRoles.end()) members.refuse("role");
  order.role = static_cast<WorkerRole>(found == kRoles.end() ? 0 : found - kRoles.begin());
  const uint64_t device = members.number("device");
  if (device > uint64_t{std::numeric_limits<int>::max()}) members.refuse("device");
  order.device = static_cast<int>(device);
  order.architecture = members.text("architecture");
  order.no_mask = members.text("no_mask");
  order.copies = members.number("copies");
  MNEME_TRY(members.status());
  return order;
}

}  // namespace mneme
