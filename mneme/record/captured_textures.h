// CapturedTextures: the textures and surfaces of one launch that is captured. Arrays are copied to memory of the recorder, which
// is captured as all memory is.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/record/program_textures.h"
#include "mneme/record/state_capture.h"

namespace mneme {

class Vendor;

class CapturedTextures {
 public:
  CapturedTextures() = default;
  ~CapturedTextures() { release(); }
  CapturedTextures(const CapturedTextures&) = delete;
  CapturedTextures& operator=(const CapturedTextures&) = delete;

  // Takes those objects whose memory is among `memory`, and those of arrays. False: one that the parameters name is of other
  // memory.
  bool choose(const std::vector<ProgramTextures::Object>& objects, const StateCapture::Memory& memory, ByteSpan parameters);
  // The addresses of the memory that objects are of, as a launch's parameters would have them.
  ByteVector addresses() const;
  // Takes memory for the copies of all arrays, which then are memory.arrays. exhausted: there is not enough.
  Status take_memory(AddressSpace& space, StateCapture::Memory& memory);
  // Copies all arrays. The device must be idle; complete on return.
  Status copy_arrays(Vendor& vendor);
  // Whether that has failed.
  bool lost_array() const { return lost_array_; }
  const TextureSet& set() const { return set_; }

 private:
  void release();

  TextureSet set_;
  std::vector<const void*> handles_;  // of the arrays of set_
  AddressSpace* space_ = nullptr;     // in which the copies are
  bool lost_array_ = false;
};

}  // namespace mneme
