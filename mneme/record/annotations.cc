#include "mneme/record/annotations.h"

#include <algorithm>

#include "mneme/base/log.h"

namespace mneme {
namespace {

// A program's enumerators are Mneme's own by number.
#define MNEME_SAME(c, cpp) static_assert(static_cast<int>(c) == static_cast<int>(cpp))
MNEME_SAME(MNEME_F16, ElementType::f16);
MNEME_SAME(MNEME_BF16, ElementType::bf16);
MNEME_SAME(MNEME_F8E4M3, ElementType::f8e4m3);
MNEME_SAME(MNEME_F8E5M2, ElementType::f8e5m2);
MNEME_SAME(MNEME_F32, ElementType::f32);
MNEME_SAME(MNEME_F64, ElementType::f64);
MNEME_SAME(MNEME_I8, ElementType::i8);
MNEME_SAME(MNEME_I16, ElementType::i16);
MNEME_SAME(MNEME_I32, ElementType::i32);
MNEME_SAME(MNEME_I64, ElementType::i64);
MNEME_SAME(MNEME_U8, ElementType::u8);
MNEME_SAME(MNEME_U16, ElementType::u16);
MNEME_SAME(MNEME_U32, ElementType::u32);
MNEME_SAME(MNEME_U64, ElementType::u64);
MNEME_SAME(MNEME_COMPLEX64, ElementType::complex64);
MNEME_SAME(MNEME_COMPLEX128, ElementType::complex128);
MNEME_SAME(MNEME_ABSOLUTE, ErrorKind::absolute);
MNEME_SAME(MNEME_RELATIVE, ErrorKind::relative);
MNEME_SAME(MNEME_ULP, ErrorKind::ulp);
MNEME_SAME(MNEME_NO_NORM, Norm::none);
MNEME_SAME(MNEME_L1, Norm::l1);
MNEME_SAME(MNEME_L2, Norm::l2);
MNEME_SAME(MNEME_LINF, Norm::linf);
MNEME_SAME(MNEME_NAN_AS_RECORDED, NanPolicy::recorded);
MNEME_SAME(MNEME_NAN_ANY, NanPolicy::any);
MNEME_SAME(MNEME_NAN_NONE, NanPolicy::none);
#undef MNEME_SAME

template <typename T, typename E>
Status read(const char* what, E value, E last, T& out) {
  const auto number = static_cast<uint32_t>(value);
  if (number > static_cast<uint32_t>(last)) return error(Code::invalid_argument, "{} is no {}", number, what);
  out = static_cast<T>(number);
  return {};
}

}  // namespace

Result<Tolerance> tolerance_of(const mneme_annotation& annotation) {
  Tolerance tolerance;
  tolerance.threshold = annotation.threshold;
  MNEME_TRY(read("mneme_dtype", annotation.dtype, MNEME_COMPLEX128, tolerance.type));
  MNEME_TRY(read("mneme_error", annotation.error, MNEME_ULP, tolerance.error));
  MNEME_TRY(read("mneme_norm", annotation.norm, MNEME_LINF, tolerance.norm));
  MNEME_TRY(read("mneme_nan", annotation.nan, MNEME_NAN_NONE, tolerance.nan));
  MNEME_TRY(check(tolerance));
  return tolerance;
}

Result<MemoryRange> elements_in(const MemoryRange& memory, DevicePtr pointer, uint64_t count, const Tolerance& tolerance) {
  const uint64_t element = size_of(tolerance.type).count;
  const uint64_t fitting = (memory.size.count - (pointer - memory.address).count) / element;
  if (count > fitting || fitting == 0)
    return error(Code::invalid_argument, "{} beyond the {} at {}",
                 count > 1 ? fmt::format("{} elements of {} reach", count, to_string(tolerance.type))
                           : fmt::format("an element of {} reaches", to_string(tolerance.type)),
                 memory.size, memory.address);
  return MemoryRange{pointer, Bytes((count == 0 ? fitting : count) * element)};
}

void Annotations::set(Annotation annotation) {
  std::lock_guard lock(mutex_);
  cut(annotation.range());
  ranges_.set(annotation.range(), {std::move(annotation.tag), annotation.tolerance});
}

void Annotations::forget(const MemoryRange& memory) {
  std::lock_guard lock(mutex_);
  cut(memory);
}

void Annotations::cut(MemoryRange memory) {
  std::vector<std::pair<MemoryRange, Said>> rest;
  for (auto next = ranges_.first_overlap(memory); next != ranges_.end() && next->range.overlaps(memory);) {
    const auto [old, said] = std::move(*next);
    next = ranges_.erase(next);
    const uint64_t element = size_of(said.tolerance.type).count;
    if (memory.address > old.address) {
      const Bytes before((memory.address - old.address).count / element * element);
      if (before.count != 0) rest.push_back({{old.address, before}, said});
    }
    if (memory.end() >= old.end()) continue;
    const Bytes skipped(((memory.end() - old.address).count + element - 1) / element * element);
    if (skipped < old.size) rest.push_back({{old.address + skipped, old.size - skipped}, said});
  }
  for (auto& [range, said] : rest) ranges_.set(range, std::move(said));
}

void Annotations::clear() {
  std::lock_guard lock(mutex_);
  ranges_.clear();
}

bool Annotations::empty() const {
  std::lock_guard lock(mutex_);
  return ranges_.empty();
}

std::vector<Annotation> Annotations::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Annotation> found;
  for (const auto& [range, said] : ranges_) found.push_back({range.address, range.size, said.tag, said.tolerance});
  return found;
}

std::vector<Annotation> Annotations::within(const MemoryState& state) const {
  std::lock_guard lock(mutex_);
  std::vector<Annotation> found;
  for (const Region& region : state.regions) {
    for (auto next = ranges_.first_overlap(region.range()); next != ranges_.end() && next->range.overlaps(region.range()); ++next)
      if (region.range().contains(next->range))
        found.push_back({next->range.address, next->range.size, next->value.tag, next->value.tolerance});
  }
  return found;
}

void Annotations::refuse(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    constexpr size_t kMost = 1000;  // texts, of a program that is wrong in ever new ways
    if (refused_.size() >= kMost || !refused_.insert(why).second) return;
  }
  log::warning("{}; the annotation is ignored", why);
}

}  // namespace mneme
