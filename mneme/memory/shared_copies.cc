#include "mneme/memory/shared_copies.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, DeviceBuffer RecordedCopies::*> kBuffers[] = {
    {"before", &RecordedCopies::before},
    {"after", &RecordedCopies::after},
    {"hashes", &RecordedCopies::hashes},
    {"masked", &RecordedCopies::masked},
    {"masked_symbols", &RecordedCopies::masked_symbols}};

Result<DeviceBuffer> import(const Descriptor& descriptor, Bytes size, Device& device) {
  MNEME_ASSIGN(auto memory, device.import_shared(descriptor, size));
  return DeviceBuffer(std::move(memory));
}

}  // namespace

Result<SharedCopies> share_copies(RecordedCopies& copies, Device& device) {
  SharedCopies shared;
  Json sizes = Json::object(), blocks = Json::array();
  for (auto [name, buffer] : kBuffers) {
    DeviceBuffer& own = copies.*buffer;
    if (!own) continue;
    MNEME_ASSIGN(Descriptor descriptor, own.share());
    MNEME_ASSIGN(own, import(descriptor, own.size(), device));
    sizes[name] = own.size().count;
    shared.descriptors.push_back(std::move(descriptor));
  }
  for (const MemoryRange& run : copies.masked_blocks) blocks.push_back({run.address.address, run.size.count});
  shared.description = {{"sizes", sizes},
                        {"all_before", copies.all_before},
                        {"masked_blocks", blocks},
                        {"masked_bytes", copies.masked_bytes.count},
                        {"no_mask", copies.no_mask}};
  return shared;
}

Result<RecordedCopies> import_copies(const SharedCopies& shared, Device& device) {
  RecordedCopies copies;
  try {
    const Json& sizes = shared.description.at("sizes");
    if (sizes.size() != shared.descriptors.size())
      return error(Code::invalid_argument, "taking over copies of a recording: {} buffers and {} descriptors", sizes.size(),
                   shared.descriptors.size());
    size_t next = 0;
    for (auto [name, buffer] : kBuffers) {
      if (!sizes.contains(name)) continue;
      MNEME_ASSIGN(copies.*buffer, import(shared.descriptors[next++], Bytes(sizes[name].get<uint64_t>()), device));
    }
    copies.all_before = shared.description.at("all_before");
    for (const Json& run : shared.description.at("masked_blocks"))
      copies.masked_blocks.push_back({DevicePtr(run.at(0).get<uint64_t>()), Bytes(run.at(1).get<uint64_t>())});
    copies.masked_bytes = Bytes(shared.description.at("masked_bytes").get<uint64_t>());
    copies.no_mask = shared.description.at("no_mask");
  } catch (const Json::exception& exception) {
    return error(Code::invalid_argument, "taking over copies of a recording: {}", exception.what());
  }
  return copies;
}

}  // namespace mneme
