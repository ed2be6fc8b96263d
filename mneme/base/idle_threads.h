// Threads that wait for work in somebody's program, and end when none comes.
//
// libc ends a process when its last thread ends, which may be long after the main one: main() may call pthread_exit(). Threads
// that waited for ever would keep such a program from ending.
#pragma once

#include <chrono>
#include <functional>

namespace mneme {

// Such a thread has no owner. Its work returns when it has had nothing to do for so long, and what comes later starts another
// one.
inline constexpr std::chrono::milliseconds kIdleThreadsEnd{500};

// Starts one, which blocks all signals. Throws std::system_error where the system starts none.
//
// It may be the last thread of the process when its work returns. Then libc calls on it what the program has registered by
// atexit(), and it takes the signals that the program takes.
void start_idle_thread(std::function<void()> work);

// Whether the main thread has ended and no thread is there but the one that asks. For work that is to be there as long as the
// program: it then asks now and again, and returns.
bool is_last_thread();

}  // namespace mneme
