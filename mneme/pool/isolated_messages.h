// The messages of isolated work (isolated.h): the work that the caller sends, and the reply of the process that does it.
#pragma once

#include <variant>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/pool/isolated.h"
#include "mneme/process/channel.h"

namespace mneme {

// What the process replies: the bitcode of the module, or why there is none. A process that crashes or is killed sends no reply.
using IsolatedReply = Result<ByteVector>;

// Send work, or a reply. Failures: those of Channel::send().
Status send(Channel& channel, const IsolatedWork& work);
Status send(Channel& channel, const IsolatedReply& reply);
// corrupt: it is not what send() wrote.
Result<IsolatedWork> decode_isolated_work(Message message);
// The reply, be it a failure. corrupt: the message is not what send() wrote.
IsolatedReply decode_isolated_reply(Message message);

}  // namespace mneme
