#include "mneme/process/zygote_messages.h"

#include <utility>

#include "mneme/process/message_members.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Json json_of(ForkWorker& fork) { return {{"type", "fork"}, {"id", fork.id}, {"order", std::move(fork.order)}}; }
Json json_of(KillWorkerProcess& kill) { return {{"type", "kill"}, {"id", kill.id}}; }
Json json_of(WorkerProcessEnded& end) {
  return {{"type", "ended"}, {"id", end.id}, {"status", end.wait_status}, {"not_forked", end.not_forked}};
}
Json json_of(ZygoteRefused& refused) { return {{"type", "refused"}, {"reason", refused.reason}}; }

int wait_status_of(MessageMembers& members) {
  const int64_t status = members.whole_number("status");
  if (!std::in_range<int>(status)) members.refuse("status");
  return static_cast<int>(status);
}

}  // namespace

Status send(Channel& channel, ToZygote message, std::span<const int> descriptors) {
  return channel.send(std::visit([](auto& one) { return json_of(one); }, message), descriptors);
}

Status send(Channel& channel, FromZygote message) {
  return channel.send(std::visit([](auto& one) { return json_of(one); }, message));
}

Result<ToZygote> decode_to_zygote(Message& message) {
  MessageMembers members(std::move(message.body));
  const std::string type = members.text("type");
  ToZygote decoded;
  if (type == "fork") {
    decoded = ForkWorker{members.number("id"), members.any("order")};
    if (message.descriptors.empty()) members.refuse("descriptors");
  } else if (type == "kill") {
    decoded = KillWorkerProcess{members.number("id")};
  } else {
    members.refuse("type");
  }
  MNEME_TRY(members.status());
  return decoded;
}

Result<FromZygote> decode_from_zygote(Message& message) {
  MessageMembers members(std::move(message.body));
  FromZygote decoded;
  // How versions before the messages had types refused, among them for being of another version.
  const bool of_an_older_version = !members.has("type") && members.has("reason");
  const std::string type = of_an_older_version ? "refused" : members.text("type");
  if (type == "ended")
    decoded = WorkerProcessEnded{members.number("id"), wait_status_of(members), members.text("not_forked")};
  else if (type == "refused")
    decoded = ZygoteRefused{members.text("reason")};
  else
    members.refuse("type");
  MNEME_TRY(members.status());
  return decoded;
}

}  // namespace mneme
