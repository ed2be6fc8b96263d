// What clang registers a program's device code by, with either vendor's runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mneme {

struct ImageWrapper {
  uint32_t magic;
  uint32_t version;
  const std::byte* image;
  const void* prelinked;
};
inline constexpr uint32_t kFatWrapper = 0x466243B1;     // CUDA's: the image is a fat binary
inline constexpr uint32_t kBundleWrapper = 0x48495046;  // "HIPF": it is a bundle of code objects

inline ImageWrapper read_wrapper(const void* wrapper) {
  ImageWrapper view;
  std::memcpy(&view, wrapper, sizeof view);
  return view;
}

}  // namespace mneme
