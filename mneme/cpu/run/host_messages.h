// HostMessages: what code of HIP's device libraries sends to the host, by __ockl_hostcall_preview.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mneme::cpu {

enum class HostStream { out, error };
struct HostText {
  HostStream stream = HostStream::out;
  std::string text;
  int32_t arguments = 0;
};

// The messages of one worker that are not complete. A message comes in packets of a descriptor and up to seven words: bit 0 of
// the descriptor begins a message, bit 1 ends it, bits 5 to 7 say how many words follow, and the rest is the message's number,
// which the packet that begins it is told. The first word of a message says to which stream it goes, the others are what is
// printed (format_device_message()).
class HostMessages {
 public:
  // The descriptor to go on with; for the packet that ends the message how many arguments were printed, and `text` gets what is
  // to be printed. A packet of a message that there is not is a message by itself, of nothing.
  uint64_t add(std::span<const uint64_t, 8> packet, HostText* text);

 private:
  std::map<uint64_t, std::vector<uint64_t>> messages_;
  uint64_t last_ = 0;
};

}  // namespace mneme::cpu
