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

uint64_t end_of(const Annotation& annotation) { return annotation.address.address + annotation.size.count; }

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

Result<Allocation> elements_in(const Allocation& memory, DevicePtr pointer, uint64_t count, const Tolerance& tolerance) {
  const uint64_t element = size_of(tolerance.type).count;
  const uint64_t fitting = (memory.size.count - (pointer - memory.address).count) / element;
  if (count > fitting || fitting == 0)
    return error(Code::invalid_argument, "{} beyond the {} at {}",
                 count > 1 ? fmt::format("{} elements of {} reach", count, to_string(tolerance.type))
                           : fmt::format("an element of {} reaches", to_string(tolerance.type)),
                 memory.size, memory.address);
  return Allocation{pointer, Bytes((count == 0 ? fitting : count) * element)};
}

void Annotations::set(Annotation annotation) {
  std::lock_guard lock(mutex_);
  cut(annotation.address.address, end_of(annotation));
  ranges_[annotation.address.address] = std::move(annotation);
}

void Annotations::forget(const Allocation& memory) {
  std::lock_guard lock(mutex_);
  cut(memory.address.address, memory.address.address + memory.size.count);
}

void Annotations::cut(uint64_t begin, uint64_t end) {
  auto first = ranges_.lower_bound(begin);
  if (first != ranges_.begin() && end_of(std::prev(first)->second) > begin) --first;
  std::vector<Annotation> rest;
  while (first != ranges_.end() && first->first < end) {
    const Annotation old = std::move(first->second);
    first = ranges_.erase(first);
    const uint64_t element = size_of(old.tolerance.type).count, start = old.address.address;
    Annotation before = old, after = old;
    if (begin > start && (before.size = Bytes((begin - start) / element * element)).count != 0) rest.push_back(before);
    const uint64_t skipped = end > start ? (end - start + element - 1) / element * element : 0;
    if (skipped >= old.size.count) continue;
    after.address = after.address + Bytes(skipped);
    after.size = old.size - Bytes(skipped);
    rest.push_back(after);
  }
  for (Annotation& annotation : rest) ranges_[annotation.address.address] = std::move(annotation);
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
  for (const auto& [address, annotation] : ranges_) found.push_back(annotation);
  return found;
}

std::vector<Annotation> Annotations::within(const MemoryState& state) const {
  std::lock_guard lock(mutex_);
  std::vector<Annotation> found;
  for (const Region& region : state.regions) {
    const uint64_t end = region.address.address + region.size.count;
    for (auto range = ranges_.lower_bound(region.address.address); range != ranges_.end() && end_of(range->second) <= end;
         ++range)
      found.push_back(range->second);
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
