// What the drivers of all GPU vendors tell of a device by numbers that they call attributes.
#pragma once

#include <algorithm>
#include <functional>

#include "mneme/device/device.h"

namespace mneme::gpu {

struct Attribute {
  int number = 0;         // the vendor's
  const char* name = "";  // for messages
};

// A vendor's attributes, by the properties that they are.
struct DeviceAttributes {
  Attribute warp_size, multiprocessors, max_threads_per_block;
  Attribute max_block_x, max_block_y, max_block_z;
  Attribute max_grid_x, max_grid_y, max_grid_z;
  Attribute max_shared_memory_per_block;  // without opt-in
  Attribute l2_cache, max_threads_per_multiprocessor;
};

// Asks for each of them in that order, and sets the properties. Fails as `ask` does.
inline Status read_attributes(const DeviceAttributes& attributes, const std::function<Result<int>(const Attribute&)>& ask,
                              DeviceProperties& properties) {
  const auto read = [&](const Attribute& attribute, uint32_t& property) -> Status {
    MNEME_ASSIGN(const int value, ask(attribute));
    property = static_cast<uint32_t>(value);
    return {};
  };
  const auto read_size = [&](const Attribute& attribute, Bytes& property) -> Status {
    MNEME_ASSIGN(const int value, ask(attribute));
    property = Bytes(static_cast<uint64_t>(std::max(value, 0)));
    return {};
  };
  MNEME_TRY(read(attributes.warp_size, properties.warp_size));
  MNEME_TRY(read(attributes.multiprocessors, properties.multiprocessors));
  MNEME_TRY(read(attributes.max_threads_per_block, properties.max_threads_per_block));
  MNEME_TRY(read(attributes.max_block_x, properties.max_block.x));
  MNEME_TRY(read(attributes.max_block_y, properties.max_block.y));
  MNEME_TRY(read(attributes.max_block_z, properties.max_block.z));
  MNEME_TRY(read(attributes.max_grid_x, properties.max_grid.x));
  MNEME_TRY(read(attributes.max_grid_y, properties.max_grid.y));
  MNEME_TRY(read(attributes.max_grid_z, properties.max_grid.z));
  MNEME_TRY(read_size(attributes.max_shared_memory_per_block, properties.max_shared_memory_per_block));
  MNEME_TRY(read_size(attributes.l2_cache, properties.l2_cache));
  return read(attributes.max_threads_per_multiprocessor, properties.max_threads_per_multiprocessor);
}

}  // namespace mneme::gpu
