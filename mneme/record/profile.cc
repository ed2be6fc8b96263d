#include "mneme/record/profile.h"

#include <algorithm>
#include <numeric>

#include "mneme/base/symbol_name.h"

namespace mneme {
namespace {

constexpr size_t kFetchAt = 64;  // launches, since fetching costs some hundred microseconds

void describe(const RecordableKernel& kernel, KernelProfile& out) {
  if (kernel.status.ok()) {
    out.name = kernel.record.name;
    out.demangled = kernel.record.demangled;
    out.static_hash = kernel.record.static_hash;
  } else {
    out.name = kernel.registered->name;
    out.demangled = demangle(out.name);
  }
}

}  // namespace

// Whether it is the first launch of its kernel.
bool Profile::see(const Launched& launched) {
  const auto [place, is_new] = kernels_.try_emplace(launched.static_hash);
  if (is_new && launched.kernel) describe(*launched.kernel, place->second);
  return is_new;
}

std::optional<LaunchTag> Profile::begin(const Launched& launched, Vendor& vendor, void* stream) {
  if (what_ == Of::all_launches) return begin_one_of_all(launched, vendor, stream);
  const Key key{launched.static_hash, launched.shape()};
  {
    std::lock_guard lock(mutex_);
    if (launched.instance) instances_[*launched.instance] = {key, std::nullopt};
    if (see(launched) && !clock_->counts_first_launches()) return std::nullopt;
    if (!launched.instance && shapes_[key].begun >= kMostOthers) return std::nullopt;
    if (!launched.instance) ++shapes_[key].begun;
  }
  std::optional<LaunchTag> tag = clock_->begin(vendor, stream);
  if (!tag) return std::nullopt;
  std::lock_guard lock(mutex_);
  pending_[*tag] = {key, launched.instance};
  return tag;
}

std::optional<LaunchTag> Profile::begin_one_of_all(const Launched& launched, Vendor& vendor, void* stream) {
  Pending pending{{launched.static_hash, launched.shape()}, std::nullopt};
  {
    std::lock_guard lock(mutex_);
    pending.first = see(launched) && !clock_->counts_first_launches();
    ++shapes_[pending.shape].all.launches;
  }
  std::optional<LaunchTag> tag = clock_->begin(vendor, stream);
  std::lock_guard lock(mutex_);
  if (tag) pending_[*tag] = pending;
  return tag;
}

void Profile::count(const Launched& launched, uint64_t launches) {
  std::lock_guard lock(mutex_);
  see(launched);
  shapes_[{launched.static_hash, launched.shape()}].all.launches += launches;
}

Profile::Sample Profile::take_sample(const Launched& launched) {
  std::lock_guard lock(mutex_);
  Shape& shape = shapes_[{launched.static_hash, launched.shape()}];
  if (shape.samples == kMostSamples) return Sample::complete;
  if (shape.asked++ != shape.next_sample) return Sample::left_out;
  shape.next_sample += ++shape.samples;
  return Sample::taken;
}

void Profile::end(LaunchTag tag, bool launched) {
  clock_->end(tag, launched);
  size_t waiting = 0;
  {
    std::lock_guard lock(mutex_);
    if (auto failed = launched ? pending_.end() : pending_.find(tag); failed != pending_.end()) {
      if (what_ == Of::all_launches) --shapes_[failed->second.shape].all.launches;
      pending_.erase(failed);
    }
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
    keep(pending->second, time->count());
    pending = pending_.erase(pending);
  }
}

void Profile::keep(const Pending& launch, double time) {
  if (what_ == Of::all_launches && launch.first)
    kernels_[launch.shape.static_hash].first = time;
  else if (what_ == Of::all_launches)
    shapes_[launch.shape].all.add_time(time);
  else if (launch.instance)
    instances_[*launch.instance].captured = shapes_[launch.shape].captured = time;
  else
    shapes_[launch.shape].others.push_back(time);
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

std::optional<double> Profile::mean_of(const Instance& instance) {
  collect();
  std::lock_guard lock(mutex_);
  auto known = instances_.find(instance);
  if (known == instances_.end()) return std::nullopt;
  const std::vector<double>& others = shapes_[known->second.shape].others;
  if (others.empty()) return known->second.captured;
  return std::accumulate(others.begin(), others.end(), 0.0) / static_cast<double>(others.size());
}

std::optional<double> Profile::mean_of(const Digest& static_hash, const ProgramShape& shape) {
  collect();
  std::lock_guard lock(mutex_);
  const auto known = shapes_.find({static_hash, shape});
  if (known == shapes_.end()) return std::nullopt;
  const std::vector<double>& others = known->second.others;
  if (others.empty()) return known->second.captured;
  return std::accumulate(others.begin(), others.end(), 0.0) / static_cast<double>(others.size());
}

LaunchProfile Profile::all() {
  collect();
  std::lock_guard lock(mutex_);
  std::map<Digest, KernelProfile> kernels = kernels_;
  for (const auto& [key, shape] : shapes_)
    if (shape.all.launches != 0) kernels[key.static_hash].shapes.push_back({key.shape, shape.all});
  LaunchProfile profile;
  profile.clock_source = clock_->source();
  for (auto& [hash, kernel] : kernels)
    if (!kernel.shapes.empty()) profile.kernels.push_back(std::move(kernel));
  return profile;
}

}  // namespace mneme
