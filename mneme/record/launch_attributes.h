// LaunchAttributes: attributes of a launch that change no result, by their names. Hooks fill it in before the recorder looks at
// the launch, so it takes no memory: where there is none, the program would see the exception.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace mneme {

class LaunchAttributes {
 public:
  struct Attribute {
    std::string_view name;
    int64_t value = 0;
  };

  // `name` is a literal, which lasts. An attribute that is there already gets the new value. False: there are too many.
  bool set(std::string_view name, int64_t value) noexcept {
    Attribute* const found =
        std::find_if(all_.data(), all_.data() + count_, [&](const Attribute& one) { return one.name == name; });
    if (found == all_.data() + all_.size()) return false;
    *found = {name, value};
    count_ = std::max<size_t>(count_, static_cast<size_t>(found - all_.data()) + 1);
    return true;
  }
  const Attribute* begin() const { return all_.data(); }
  const Attribute* end() const { return all_.data() + count_; }

 private:
  std::array<Attribute, 16> all_{};
  size_t count_ = 0;
};

}  // namespace mneme
