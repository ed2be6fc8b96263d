// AccessTracking: has a kernel compiled so that it notes what memory it reads and writes.
//
// The notes are planes in device memory, one plane for each kind of access. The process that runs the code allocates them
// anywhere, and writes their address into a variable of the code. The code is therefore the same in every process.
#pragma once

#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// The name of that variable of the loaded module. It has 8 bytes, which must hold the notes' address before the code is
// launched.
inline constexpr char kAccessNotesVariable[] = "__mneme_access_notes";

// The bytes of [base, base+size) are watched. The byte at `base` has the note with the index `offset` in each plane.
struct TrackedRange {
  DevicePtr base;
  Bytes size;
  Bytes offset;
};

// What a note says. Every watched byte has one note in each plane.
enum class NoteOf {
  // Whether there was an access. A note is one byte, which becomes 1. There are two planes: the first for stores, the second
  // for loads. An atomic operation is noted in both.
  access,
  // Who made the accesses. A note is two words of 32 bits: the first block, or thread, that came, and one other that came
  // later. There are three planes: for stores, for loads, and for atomic or volatile accesses that change memory (atomic and
  // volatile loads leave no note). A block is written as its index in the grid plus 1, a thread as its index among all threads
  // of the launch plus 1; zero is nobody.
  block,
  thread,
};
inline constexpr uint64_t kNoteWords = 2;  // 32-bit words of a note of NoteOf::block or NoteOf::thread

// Ranges may be in any order and must not overlap. Without ranges nothing is watched.
struct AccessTracking {
  std::vector<TrackedRange> ranges = {};
  Bytes plane = {};  // how many notes a plane has; the planes lie one behind the other
  NoteOf note = NoteOf::access;
};

}  // namespace mneme
