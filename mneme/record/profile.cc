#include "mneme/record/profile.h"

#include <algorithm>

namespace mneme {
namespace {

constexpr size_t kFetchAt = 64;  // launches, since fetching costs some hundred microseconds

std::string key_of(const Profile::Launched& launched) {
  return fmt::format("{} {} {} {} {}", launched.static_hash.hex(), launched.grid, launched.block, launched.shared.count,
                     launched.cooperative);
}

}  // namespace

std::optional<LaunchTag> Profile::begin(const Launched& launched, Vendor& vendor, void* stream) {
  const std::string key = key_of(launched);
  {
    std::lock_guard lock(mutex_);
    if (launched.instance) instances_[*launched.instance] = {key, std::nullopt};
    const bool first = seen_.insert(launched.static_hash).second;
    if (first && !clock_->counts_first_launches()) return std::nullopt;
    if (!launched.instance && shapes_[key].begun >= kMostOthers) return std::nullopt;
    if (!launched.instance) ++shapes_[key].begun;
  }
  std::optional<LaunchTag> tag = clock_->begin(vendor, stream);
  if (!tag) return std::nullopt;
  std::lock_guard lock(mutex_);
  pending_[*tag] = {key, launched.instance};
  return tag;
}

void Profile::end(LaunchTag tag, bool launched) {
  clock_->end(tag, launched);
  size_t waiting = 0;
  {
    std::lock_guard lock(mutex_);
    if (!launched) pending_.erase(tag);
    waiting = pending_.size();
  }
  if (waiting != 0 && waiting % kFetchAt == 0) collect();
}

void Profile::collect() {
  clock_->fetch();
  std::lock_guard lock(mutex_);
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    auto time = clock_->take(pending->first);
    if (!time) {
      ++pending;
      continue;
    }
    if (const auto& instance = pending->second.instance)
      instances_[*instance].captured = time->count();
    else
      shapes_[pending->second.shape].others.push_back(time->count());
    pending = pending_.erase(pending);
  }
}

std::optional<RecordedTime> Profile::time_of(const Instance& instance) {
  collect();
  std::lock_guard lock(mutex_);
  auto known = instances_.find(instance);
  if (known == instances_.end()) return std::nullopt;
  RecordedTime time{clock_->source(), known->second.captured, 0, 0, 0};
  std::vector<double> others = shapes_[known->second.shape].others;
  time.others = others.size();
  if (!others.empty()) {
    std::sort(others.begin(), others.end());
    const size_t middle = others.size() / 2;
    time.others_min = others[0];
    time.others_median = others.size() % 2 != 0 ? others[middle] : (others[middle - 1] + others[middle]) / 2;
  }
  if (!time.captured && others.empty()) return std::nullopt;
  return time;
}

std::vector<Profile::Instance> Profile::instances() {
  std::lock_guard lock(mutex_);
  std::vector<Instance> all;
  for (const auto& [instance, known] : instances_) all.push_back(instance);
  return all;
}

}  // namespace mneme
