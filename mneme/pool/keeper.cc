#include "mneme/pool/keeper.h"

#include <map>

#include "mneme/pool/messages.h"

namespace mneme {

void serve_keeper(Channel channel, Result<std::unique_ptr<Device>> device) {
  if (!device.ok()) return;
  struct Kept {
    std::shared_ptr<SharedCopies> shared;
    RecordedCopies copies;
  };
  std::map<size_t, Kept> kept;
  for (;;) {
    auto message = channel.receive();
    if (!message.ok()) return;
    auto decoded = decode_to_worker(std::move(*message));
    const auto* sent = decoded.ok() ? std::get_if<InstanceCopies>(&*decoded) : nullptr;
    if (!sent) return;
    auto copies = import_copies(*sent->copies, **device);
    if (copies.ok()) kept.insert_or_assign(sent->instance, Kept{sent->copies, std::move(*copies)});
  }
}

}  // namespace mneme
