#include "mneme/pool/isolated_messages.h"

#include <utility>

#include "mneme/process/message_members.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Json binary(const ByteVector& bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  return Json::binary({data, data + bytes.size()});
}

}  // namespace

Status send(Channel& channel, const IsolatedWork& work) {
  return channel.send({{"source", binary(work.source)},
                       {"name", work.name},
                       {"pipeline", work.pipeline ? Json(*work.pipeline) : Json()},
                       {"plugins", work.options.plugins},
                       {"cpu", work.options.cpu},
                       {"features", work.options.features},
                       {"codegen_level", work.options.codegen_level},
                       {"memory", work.memory.count}});
}

Result<IsolatedWork> decode_isolated_work(Message message) {
  MessageMembers members(std::move(message.body));
  IsolatedWork work;
  work.source = members.bytes("source");
  work.name = members.text("name");
  const Json pipeline = members.any("pipeline");
  if (pipeline.is_string())
    work.pipeline = pipeline.get<std::string>();
  else if (!pipeline.is_null())
    members.refuse("pipeline");
  work.options.plugins = members.texts("plugins");
  work.options.cpu = members.text("cpu");
  work.options.features = members.text("features");
  const uint64_t level = members.number("codegen_level");
  if (!std::in_range<unsigned>(level)) members.refuse("codegen_level");
  work.options.codegen_level = static_cast<unsigned>(level);
  work.memory = Bytes(members.number("memory"));
  MNEME_TRY(members.status());
  return work;
}

Status send(Channel& channel, const IsolatedReply& reply) {
  const Status status = reply.status();
  return channel.send({{"code", static_cast<unsigned>(status.code())},
                       {"message", status.message()},
                       {"bitcode", binary(reply.ok() ? *reply : ByteVector())}});
}

IsolatedReply decode_isolated_reply(Message message) {
  MessageMembers members(std::move(message.body));
  const uint64_t code = members.number("code");
  if (code > static_cast<uint64_t>(Code::internal)) members.refuse("code");
  std::string reason = members.text("message");
  ByteVector bitcode = members.bytes("bitcode");
  MNEME_TRY(members.status());
  if (code != static_cast<uint64_t>(Code::ok)) return Status(static_cast<Code>(code), std::move(reason));
  return bitcode;
}

}  // namespace mneme
