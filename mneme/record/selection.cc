#include "mneme/record/selection.h"

#include <chrono>

namespace mneme {
namespace {

int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool is_found(const NameExpression& expression, const KernelRecord& kernel) {
  return expression.is_found_in(kernel.demangled) || expression.is_found_in(kernel.name);
}

Status parse(const std::string& text, std::optional<NameExpression>& out) {
  if (text.empty()) return {};
  MNEME_ASSIGN(out, NameExpression::parse(text));
  return {};
}

Status parse(const std::string& text, std::optional<LaunchWindow>& out) {
  if (text.empty()) return {};
  MNEME_ASSIGN(out, LaunchWindow::parse(text));
  return {};
}

Digest key_of(const ProgramShape& shape, ByteSpan parameters) {
  Hasher hasher;
  for (const Dim3& extent : {shape.grid, shape.block, shape.cluster}) hasher.add(extent.x).add(extent.y).add(extent.z);
  hasher.add(shape.shared.count).add(uint64_t{shape.cooperative}).add(parameters);
  return hasher.finish();
}

// What holds for each launch of a kernel: it is looked at before the window and the numbers.
bool is_of_each_launch(NotRecorded reason) {
  switch (reason) {
    case NotRecorded::no_segment:
    case NotRecorded::no_code:
    case NotRecorded::ambiguous_names:
    case NotRecorded::other_kernel:
    case NotRecorded::excluded:
    case NotRecorded::faster_kernel:
    case NotRecorded::damaged_file: return true;
    default: return false;
  }
}

}  // namespace

Selection::Selection(const RecordingOptions& options)
    : options_(options), slowest_(options.slowest.begin(), options.slowest.end()) {
  status_ = parse(options.kernels, kernels_);
  if (status_.ok()) status_ = parse(options.exclude, exclude_);
  if (status_.ok()) status_ = parse(options.window, window_);
}

std::optional<NotRecorded> Selection::leaves_out(const KernelRecord& kernel) const {
  if (kernels_ && !is_found(*kernels_, kernel)) return NotRecorded::other_kernel;
  if (exclude_ && is_found(*exclude_, kernel)) return NotRecorded::excluded;
  if (!slowest_.empty() && !slowest_.contains(digest_of(std::as_bytes(std::span(kernel.name)))))
    return NotRecorded::faster_kernel;
  return std::nullopt;
}

uint64_t Selection::next_position() {
  if (!window_) return 0;
  if (window_->unit == LaunchWindow::Unit::launches) return ++launches_;
  const int64_t time = now();
  int64_t first = 0;
  if (first_launch_.compare_exchange_strong(first, time)) return 0;
  return static_cast<uint64_t>(std::max(time, first) - first);
}

void Selection::pass_positions(uint64_t launches) {
  if (window_ && window_->unit == LaunchWindow::Unit::launches) launches_ += launches;
}

bool Selection::lasts(NotRecorded reason, uint64_t position) const {
  if (is_of_each_launch(reason)) return true;
  switch (reason) {
    case NotRecorded::outside_window: return window_->is_decided(position);
    // The kernel's or the launch's own, and those that the numbers leave out for good.
    case NotRecorded::beyond_max:
    case NotRecorded::graph_nodes:
    case NotRecorded::graph_condition:
    case NotRecorded::graph_body:
    case NotRecorded::graph_memory:
    case NotRecorded::graph_untold:
    case NotRecorded::launch_attribute:
    case NotRecorded::other_context:
    case NotRecorded::managed_global:
    case NotRecorded::same_names:
    case NotRecorded::device_heap: return options_.every <= 1 && (!window_ || window_->is_decided(position));
    default: return false;
  }
}

bool Selection::lasts_for_kernel(NotRecorded reason) const {
  if (window_) return false;  // each launch has a position
  return is_of_each_launch(reason) || (reason == NotRecorded::beyond_max && options_.every <= 1);
}

std::optional<NotRecorded> Selection::leaves_out(KernelCounts& counts, uint64_t position) const {
  if (window_ && !window_->contains(position)) return NotRecorded::outside_window;
  const uint64_t seen = counts.seen.fetch_add(1);
  if (seen < options_.skip) return NotRecorded::skipped;
  if (options_.every > 1 && (seen - options_.skip) % options_.every != 0) return NotRecorded::between;
  if (counts.attempts >= options_.max) return NotRecorded::beyond_max;
  return std::nullopt;
}

std::optional<NotRecorded> Selection::leaves_out(Bytes memory) const {
  const bool fits = !options_.max_launch_bytes || memory <= *options_.max_launch_bytes;
  return fits ? std::nullopt : std::optional(NotRecorded::large_launch);
}

std::optional<Selection::Claim> Selection::claim_launch(KernelCounts& counts, const ProgramShape& shape,
                                                        ByteSpan parameters) const {
  if (options_.distinct == Distinct::shape) return counts.distinct.claim(key_of(shape, {}));
  if (options_.distinct == Distinct::arguments) return counts.distinct.claim(key_of(shape, parameters));
  return Claim();
}

bool Selection::claim_data(KernelCounts& counts, const Digest& dynamic_hash, Claim& claim) {
  if (options_.distinct != Distinct::data) return true;
  auto claimed = counts.distinct.claim(dynamic_hash);
  if (claimed)
    claim = std::move(*claimed);
  else
    take_back_attempt(counts);
  return claimed.has_value();
}

NotRecorded Selection::same() const {
  switch (options_.distinct.value_or(Distinct::data)) {
    case Distinct::shape: return NotRecorded::same_shape;
    case Distinct::arguments: return NotRecorded::same_arguments;
    case Distinct::data: return NotRecorded::same_data;
  }
  return NotRecorded::same_data;
}

}  // namespace mneme
