#include "mneme/verify/mask_left.h"

#include <algorithm>

namespace mneme {

MaskLeft::MaskLeft(const MemoryPiece& piece) {
  if (piece.started.empty()) return;
  bytes_.resize(piece.actual.size());
  size_t masked = 0;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (piece.started[i] != ~piece.recorded[i]) continue;
    bytes_[i] = piece.actual[i] == piece.started[i] ? Byte::left : Byte::written;
    ++masked;
  }
  const size_t enough = std::min(kSurelyLeft, masked);
  for (size_t begin = 0; begin < bytes_.size();) {
    size_t left = 0, end = begin;
    for (; end < bytes_.size() && bytes_[end] != Byte::written; ++end) left += bytes_[end] == Byte::left ? 1 : 0;
    if (left < enough)
      std::replace(bytes_.begin() + static_cast<ptrdiff_t>(begin), bytes_.begin() + static_cast<ptrdiff_t>(end), Byte::left,
                   Byte::written);
    begin = end + 1;
  }
}

bool MaskLeft::all_of(size_t begin, size_t end) const {
  if (bytes_.empty()) return false;
  const auto first = bytes_.begin() + static_cast<ptrdiff_t>(begin), last = bytes_.begin() + static_cast<ptrdiff_t>(end);
  return std::find(first, last, Byte::written) == last && std::find(first, last, Byte::left) != last;
}

}  // namespace mneme
