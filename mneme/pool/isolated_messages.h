// How isolated work (isolated.h) and what came of it travel between the two processes.
#pragma once

#include <variant>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/pool/isolated.h"
#include "mneme/process/channel.h"

namespace mneme {

// What the process answers: the bitcode of the module, or why there is none. One that ends unasked answers nothing.
using IsolatedReply = Result<ByteVector>;

// Fail as Channel::send() does.
Status send(Channel& channel, const IsolatedWork& work);
Status send(Channel& channel, const IsolatedReply& reply);
// corrupt: it is not what send() wrote.
Result<IsolatedWork> decode_isolated_work(Message message);
// The reply; corrupt: it is not what send() wrote.
IsolatedReply decode_isolated_reply(Message message);

}  // namespace mneme
