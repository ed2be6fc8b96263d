// Channel: one end of a connection between two processes, which carries messages and file descriptors.
//
// A message is a JSON value, and descriptors that arrive as the receiver's own. Messages arrive whole and in order. Used by one
// thread at a time. Failures: unavailable (the other process has gone, or does not read what it is sent), io, and, from then on,
// exhausted (descriptors that came could not be had: this process has too many open files).
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

struct Message {
  nlohmann::json body;
  std::vector<Descriptor> descriptors;
};

class Channel {
 public:
  static constexpr size_t kMostDescriptors = 8;  // of one message
  // Two connected ends. Both are closed on exec.
  static Result<std::pair<Channel, Channel>> pair();
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  // The descriptors stay the caller's. unavailable, after 10 s, when the other end does not read. internal: there are more than
  // kMostDescriptors of them.
  Status send(const nlohmann::json& body, std::span<const int> descriptors = {});
  // The same without descriptors, but the message goes with the next one that is sent, or with flush(): who waits for messages is
  // woken once for several.
  void send_later(const nlohmann::json& body);
  Status flush();
  // Waits for the next message.
  Result<Message> receive();
  // Takes in what has arrived, without waiting; next() then hands it out. unavailable once the other end is closed: what came
  // before that is still handed out.
  Status take_in();
  // A part of it, at least: for who is told again, by poll() say, that there is more.
  Status take_some();
  // The body of what is no JSON value is discarded (nlohmann::json::is_discarded()).
  std::optional<Message> next();

  // Whether a text is in what was taken in and not handed out yet. To look for it takes far less than next(): where a word is in
  // none of the messages, none of them is one that has it.
  bool mentions(std::string_view text) const;

  // Closes it for whoever has a descriptor of this end, processes that were forked meanwhile included.
  void shut_down();

  // For poll(); readable when take_in() has something to do.
  int descriptor() const { return socket_.number(); }
  Descriptor release() { return std::move(socket_); }

 private:
  enum class Wait { no, yes };
  Result<bool> read_some(Wait wait);  // false: nothing is there

  Status write(std::span<const uint8_t> bytes, std::span<const int> descriptors);

  Descriptor socket_;
  std::vector<uint8_t> later_;  // to be sent
  ByteVector received_;
  std::deque<Descriptor> descriptors_;
  Status lost_;  // for what was lost, behind which nothing can be read
};

}  // namespace mneme
