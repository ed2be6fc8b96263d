// CpuTextures: recorded arrays, textures and surfaces on the CPU device. An array is the memory of its copy, so that nothing is
// ever copied.
#pragma once

#include <memory>
#include <vector>

#include "mneme/cpu/run/texture_table.h"
#include "mneme/device/device_textures.h"

namespace mneme::cpu {

class CpuTextures final : public DeviceTextures {
 public:
  // `table` is the device's, and must outlive the result. unsupported: an object is of a kind that the CPU device does not have.
  // exhausted: the device has as many objects as it can.
  static Result<std::unique_ptr<CpuTextures>> create(TextureTable& table, const TextureSet& textures);
  ~CpuTextures() override;

  Status fill_arrays(Stream&) override { return {}; }
  Status copy_arrays(Stream&) override { return {}; }

 private:
  explicit CpuTextures(TextureTable& table) : table_(table) {}
  TextureTable& table_;
};

}  // namespace mneme::cpu
