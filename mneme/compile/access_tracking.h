// AccessTracking: what code that is compiled to find out what it reads and writes notes, and where.
//
// The notes are two planes of bytes, one for writes and one for reads, that lie wherever the process which runs the code has put
// them: the code finds their address in a variable of its own. So it is the same code in every process.
#pragma once

#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// The name of that variable, 8 bytes that the loaded module has. They must hold the notes' address before the code is launched.
inline constexpr char kAccessNotesVariable[] = "__mneme_access_notes";

// The bytes of [base, base+size) are watched. The one at base has its note `offset` behind the beginning of each plane.
struct TrackedRange {
  DevicePtr base;
  Bytes size;
  Bytes offset;
};

// What a note says.
enum class NoteOf {
  // One byte, in two planes: it becomes 1 when its byte is stored to (in the first plane) or loaded from (in the second, `plane`
  // behind the first), whatever came first. An atomic operation does both.
  access,
  // Who came: two words of 32 bits, the first that came and one other, in three planes: of stores, loads, and atomic or volatile
  // accesses that change memory (those that only load leave no note). Zero: nobody. A block is its index in the grid plus 1, a
  // thread
  // its index among all threads of the launch plus 1. A plane then has `plane` notes, that is eight times as many bytes.
  block,
  thread,
};
inline constexpr uint64_t kNoteWords = 2;  // of NoteOf::block and NoteOf::thread

// Ranges do not overlap. Without ranges nothing is watched.
struct AccessTracking {
  std::vector<TrackedRange> ranges = {};
  Bytes plane = {};  // also the distance of planes, counted in notes
  NoteOf note = NoteOf::access;
};

}  // namespace mneme
