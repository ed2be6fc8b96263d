#include "mneme/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "mneme/base/shown.h"

namespace mneme::cli {

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::stage(std::string_view what) {
  if (!terminal_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  const std::string text = fmt::format("[{:5.1f} s] {}", passed.count(), what);
  // One that went over the edge would not be written over by the next.
  winsize window{};
  size_t most = kShownLength;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 4) most = window.ws_col - 1u;
  // \r returns to the line's start, ESC[K erases to its end.
  const std::string line = "\r\033[K" + shown(text, most);
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
