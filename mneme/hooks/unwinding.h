// Exceptions of the program that pass through hooks.
#pragma once

#include <unwind.h>

namespace mneme {

// To be called before the first hook is. A library of hooks carries its own part of the C++ runtime, hidden, and with it
// functions by which an unwinder, that of the program, has the hooks' frames cleaned up. These know the registers of the machine
// once they have unwound something themselves; before that they abort the process.
inline void prepare_unwinding() {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

}  // namespace mneme
