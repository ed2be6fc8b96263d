#include "mneme/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

namespace mneme::cli {

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::stage(std::string_view what) {
  if (!terminal_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  // \r returns to the line's start, ESC[K erases to its end.
  const std::string line = fmt::format("\r\033[K[{:5.1f} s] {}", passed.count(), what);
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line.data(), line.size());
  shown_ = true;
}

void Progress::clear() {
  if (shown_) clear_line();
  shown_ = false;
}

void Progress::clear_line() {
  if (::isatty(STDERR_FILENO) == 0) return;
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, "\r\033[K", 4);
}

}  // namespace mneme::cli
