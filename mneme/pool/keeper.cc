#include "mneme/pool/keeper.h"

#include <map>

namespace mneme {

void serve_keeper(Channel channel, Result<std::unique_ptr<Device>> device) {
  if (!device.ok()) return;
  struct Kept {
    SharedCopies shared;
    RecordedCopies copies;
  };
  std::map<uint64_t, Kept> kept;
  for (;;) {
    auto message = channel.receive();
    if (!message.ok()) return;
    const uint64_t instance = message->body.value("instance", uint64_t{0});
    Kept fresh{copies_of(std::move(*message)), {}};
    auto copies = import_copies(fresh.shared, **device);
    if (!copies.ok()) continue;
    fresh.copies = std::move(*copies);
    kept.insert_or_assign(instance, std::move(fresh));
  }
}

nlohmann::json copies_message(size_t instance, const SharedCopies& copies) {
  return {{"instance", instance}, {"copies", copies.description}};
}

SharedCopies copies_of(Message message) { return {message.body["copies"], std::move(message.descriptors)}; }

}  // namespace mneme
