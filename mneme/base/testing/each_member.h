// For tests of what must know every member of a value: a key, a hash, a codec, a comparison.
//
// A test lists the members of a type by a structured binding, which does not compile once the type has another one.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace mneme::testing_members {

using SeeMember = std::function<void(const std::string& name)>;

// `member` is `other` while `see` is called.
template <class T>
void change(T& member, std::type_identity_t<T> other, const std::string& name, const SeeMember& see) {
  std::swap(member, other);
  see(name);
  std::swap(member, other);
}

}  // namespace mneme::testing_members
