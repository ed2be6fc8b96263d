#include "mneme/record/launch_group.h"

#include <algorithm>

namespace mneme {

void LaunchGroup::settle(NotRecorded reason) {
  ++settled_;
  const auto known = std::find_if(reasons_.begin(), reasons_.end(), [&](const Reason& r) { return r.reason == reason; });
  if (known == reasons_.end())
    reasons_.push_back({reason, 1});
  else
    ++known->launches;
}

void LaunchGroup::settle_untimed() {
  ++settled_;
  ++untimed_;
}

// A graph has few shapes of kernels, and mostly launches one several times in a row.
void LaunchGroup::add_shape(const std::shared_ptr<const RecordableKernel>& kernel, const ProgramShape& shape) {
  const auto known = std::find_if(shapes_.rbegin(), shapes_.rend(),
                                  [&](const Shape& other) { return other.kernel == kernel && other.shape == shape; });
  if (known == shapes_.rend())
    shapes_.push_back({kernel, shape, 1});
  else
    ++known->launches;
}

void LaunchGroup::count_call(RecordingReport* report) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (!report) return;
  report->launches += launches_;
  if (untimed_ != 0) report->untimed += untimed_;
  for (const auto& [reason, launches] : reasons_)
    report->not_recorded[static_cast<size_t>(reason)].launches.fetch_add(launches, std::memory_order_relaxed);
}

}  // namespace mneme
