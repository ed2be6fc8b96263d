/* The driver table: the functions of the CUDA driver that a preloaded library stands before.
 *
 * `mneme record` preloads libmneme_preload.so (mneme/interpose) into programs that were not built for recording. Whatever such a
 * program, one of its CUDA runtimes or one of its libraries calls of MNEME_DRIVER_CALLS jumps through a slot of this table,
 * however it found the function: by linking, dlsym() or cuGetProcAddress(). A slot holds the driver's own function until a driver
 * interposer replaces it. A process has one driver, and so one table.
 */
#ifndef MNEME_ABI_DRIVER_TABLE_H
#define MNEME_ABI_DRIVER_TABLE_H

#include <stdint.h>

#include "mneme/abi/driver_calls.h"

#define MNEME_DRIVER_TABLE_VERSION 1u

enum mneme_driver_call {
#define MNEME_DRIVER_CALL_ENTRY(name) MNEME_DRIVER_CALL_##name,
  MNEME_DRIVER_CALLS(MNEME_DRIVER_CALL_ENTRY)
#undef MNEME_DRIVER_CALL_ENTRY
      MNEME_DRIVER_CALL_COUNT
};

typedef void (*mneme_driver_function)(void);

struct mneme_driver_table {
  uint32_t version;                  /* MNEME_DRIVER_TABLE_VERSION of the library that holds it */
  uint32_t call_count;               /* MNEME_DRIVER_CALL_COUNT of it */
  mneme_driver_function* slots;      /* call_count entries, indexed by enum mneme_driver_call; what callers jump through */
  const mneme_driver_function* real; /* the same, never changed: the driver's own functions; null: this driver lacks it */
  void* library;                     /* handle of the driver's library, to look up other functions of it */
};

/* A driver interposer is a shared library that exports this function as MNEME_ATTACH_DRIVER_SYMBOL. It is loaded, and the
 * function called, once in a process, right before the first call of a function of the table. Then it may replace entries of
 * table->slots. Functions of the driver that it finds by dlsym() itself are the driver's own. Returns 0, or another number when
 * it leaves the table alone (it has said why on standard error). */
typedef int (*mneme_attach_driver_function)(struct mneme_driver_table* table);
#define MNEME_ATTACH_DRIVER_SYMBOL "mneme_attach_driver"

/* Environment of a program into which the library is preloaded: the path of the driver interposer. Unset: every call goes
 * straight to the driver. */
#define MNEME_ENV_DRIVER_INTERPOSER "MNEME_DRIVER_INTERPOSER"

#endif
