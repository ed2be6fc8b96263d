#include "mneme/cpu/run/host_messages.h"

#include <algorithm>

#include "mneme/cpu/run/device_printf.h"

namespace mneme::cpu {
namespace {

constexpr uint64_t kBegins = 1, kEnds = 2, kCountShift = 5, kCountMask = 7, kNumberShift = 8;
constexpr uint64_t kToError = 1;

}  // namespace

uint64_t HostMessages::add(std::span<const uint64_t, 8> packet, HostText* text) {
  const uint64_t descriptor = packet[0];
  const uint64_t number = (descriptor & kBegins) != 0 ? ++last_ : descriptor >> kNumberShift;
  std::vector<uint64_t>& message = messages_[number];
  const auto words = packet.subspan<1>();
  const uint64_t count = std::min<uint64_t>(descriptor >> kCountShift & kCountMask, words.size());
  message.insert(message.end(), words.begin(), words.begin() + static_cast<ptrdiff_t>(count));
  if ((descriptor & kEnds) == 0) return number << kNumberShift;
  *text = {};
  if (!message.empty()) {
    const DeviceText formatted = format_device_message(std::span(message).subspan(1));
    *text = {(message[0] & kToError) != 0 ? HostStream::error : HostStream::out, formatted.text, formatted.arguments};
  }
  messages_.erase(number);
  return static_cast<uint64_t>(text->arguments);
}

}  // namespace mneme::cpu
