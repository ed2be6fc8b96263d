#include "mneme/base/activity.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;
using Allowance = std::chrono::duration<double>;  // in seconds
// Milliseconds since `origin`, seconds of allowance, activity: 36, 20 and 8 bits.
using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free);
constexpr uint64_t kLongestAllowance = (1 << 20) - 1;

const Clock::time_point origin = Clock::now();  // the same in a child

Word own_word{0};
Word* current_word = &own_word;
uint64_t compile_memory = 0;
rlim_t usual_memory_limit = RLIM_INFINITY;

uint64_t word_of(Activity activity, Allowance allowance) {
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - origin);
  const double seconds = std::ceil(std::max(allowance.count(), 0.0));
  const auto allowed = static_cast<uint64_t>(std::min(seconds, static_cast<double>(kLongestAllowance)));
  return static_cast<uint64_t>(passed.count()) << 28 | allowed << 8 | static_cast<uint64_t>(activity);
}

ActivityBoard::Reading reading_of(uint64_t word) {
  return {static_cast<Activity>(word & 0xff), origin + std::chrono::milliseconds(word >> 28),
          std::chrono::seconds(word >> 8 & kLongestAllowance)};
}

// What RLIMIT_DATA counts: the sixth number of statm, in pages.
uint64_t data_bytes() {
  unsigned long data = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &data) != 1) data = 0;
  std::fclose(file);
  return uint64_t{data} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void enter(Activity from, Activity to, Allowance allowance) {
  if (compile_memory != 0 && (from == Activity::compiling) != (to == Activity::compiling)) {
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    const uint64_t used = data_bytes();
    if (to != Activity::compiling) {
      limit.rlim_cur = usual_memory_limit;
    } else if (used != 0) {
      usual_memory_limit = std::exchange(limit.rlim_cur, std::min<rlim_t>(limit.rlim_cur, used + compile_memory));
    }
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  current_word->store(word_of(to, allowance), std::memory_order_release);
}

}  // namespace

std::string_view to_string(Activity activity) {
  switch (activity) {
    case Activity::working: return "working";
    case Activity::compiling: return "compiling";
    case Activity::loading: return "loading";
    case Activity::running: return "running";
    case Activity::timing: return "timing";
    case Activity::tracking: return "tracking";
  }
  return "?";
}

ActivityScope::ActivityScope(Activity activity, Allowance allowance) : before_(current_word->load(std::memory_order_relaxed)) {
  enter(reading_of(before_).activity, activity, allowance);
}
ActivityScope::~ActivityScope() {
  const ActivityBoard::Reading before = reading_of(before_);
  enter(reading_of(current_word->load(std::memory_order_relaxed)).activity, before.activity, before.allowance);
}

void limit_compile_memory(Bytes additional) { compile_memory = additional.count; }

Result<ActivityBoard> ActivityBoard::create() {
  void* page = ::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return error(Code::exhausted, "mapping memory to be shared with a child process: {}", std::strerror(errno));
  new (page) Word(word_of(Activity::working, {}));
  return ActivityBoard(page);
}

ActivityBoard::ActivityBoard(ActivityBoard&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

ActivityBoard::~ActivityBoard() {
  if (page_ == nullptr) return;
  if (current_word == page_) current_word = &own_word;
  ::munmap(page_, sizeof(Word));
}

void ActivityBoard::show_this_process() const {
  current_word = static_cast<Word*>(page_);
  current_word->store(word_of(Activity::working, {}), std::memory_order_release);
}

ActivityBoard::Reading ActivityBoard::read() const {
  return reading_of(static_cast<Word*>(page_)->load(std::memory_order_acquire));
}

}  // namespace mneme
