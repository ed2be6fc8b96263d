/* The call table: every function of the CUDA or the HIP runtime that a recordable program calls goes through one slot of it.
 *
 * `mneme config ldflags` links the runtime with --wrap for each function, so that a call of cudaMalloc jumps through slot
 * MNEME_CALL_cudaMalloc. At start a slot holds the real function; emulation and record, loaded on request, replace slots.
 * A HIP program is linked with `mneme config --hip ldflags`, and its table has slots of enum mneme_hip_call (hip_calls.inc).
 * A process has one table for each linked object (the program, each shared library that holds kernels): each has its own
 * CUDA runtime where that is linked statically, so a replacement must call on through the table it was called from.
 */
#ifndef MNEME_ABI_CALL_TABLE_H
#define MNEME_ABI_CALL_TABLE_H

#include <stdint.h>

/* Generated: enum mneme_call { MNEME_CALL_<function>…, MNEME_CALL_COUNT }; the macros MNEME_CUDA_CALLS(X),
 * MNEME_CUDA_CALLS_DIGEST. */
#include "mneme/abi/cuda_calls.inc"
#include "mneme/abi/segment.h"

/* The most tables that a process can have. Each linked object has one. */
#define MNEME_MAX_TABLES 32
#define MNEME_TABLE_UNNUMBERED 0xffffffffu /* `index` before the first interposer attaches */

typedef void (*mneme_function)(void);

enum mneme_table_device {
  MNEME_TABLE_CUDA = 0, /* the slots end in the CUDA runtime */
  MNEME_TABLE_CPU = 1,  /* the slots end in the emulation */
  MNEME_TABLE_HIP = 2,  /* the slots end in the HIP runtime */
};

/* Finds the device global `name` in the image that holds the kernel registered for `host_function`, and gives its address and
 * its size in bytes. Returns 0; another number when there is no such global. */
typedef int (*mneme_find_global_function)(const void* host_function, const char* name, uint64_t* address, uint64_t* size);

/* Receives the annotations (annotate.h) of the object that `table` belongs to. It copies what it keeps of the annotation, and
 * reports what is wrong with one on standard error itself. */
struct mneme_annotation;
struct mneme_call_table;
typedef void (*mneme_annotate_function)(struct mneme_call_table* table, const void* pointer, uint64_t count,
                                        const struct mneme_annotation* annotation);

struct mneme_call_table {
  uint32_t abi_version;       /* MNEME_ABI_VERSION of the object that holds it */
  uint32_t call_count;        /* the number of functions of its list: MNEME_CALL_COUNT, MNEME_HIP_CALL_COUNT */
  uint32_t index;             /* unique in the process, below MNEME_MAX_TABLES; the first interposer gives it (accept_table) */
  uint32_t device;            /* enum mneme_table_device; emulation sets it */
  mneme_function* slots;      /* call_count entries, indexed by enum mneme_call; what the trampolines jump through */
  const mneme_function* real; /* the same, never changed: the functions that were linked; null: this HIP runtime lacks it */
  mneme_find_global_function find_global; /* null: ask the driver; emulation sets it */
  uint64_t calls_digest; /* MNEME_CUDA_CALLS_DIGEST, MNEME_HIP_CALLS_DIGEST: slots of tables with the same one mean the same */
  const char* object;    /* path of the linked object, as the dynamic loader has it; never null */
  mneme_annotate_function annotate; /* null: nobody asks for annotations; record sets it */
};

/* A recordable object holds this note (section ".note.mneme", owner "Mneme"), so that `mneme` can tell before it runs it. */
#define MNEME_NOTE_OWNER "Mneme"
#define MNEME_NOTE_TYPE 1u     /* of an object that calls the CUDA runtime */
#define MNEME_NOTE_TYPE_HIP 2u /* of one that calls the HIP runtime */
struct mneme_note {
  uint32_t abi_version;
  uint32_t call_count;
  uint64_t calls_digest;
};

/* An interposer is a shared library that exports this function as MNEME_ATTACH_SYMBOL. The runtime calls it once a table,
 * before any call through the table, in the order emulation, record. It first checks the table's versions and, when the table
 * is still unnumbered, numbers it (runtime/attach.h does both); then it may replace entries of table->slots. Returns 0, or a
 * number that is not 0 when it leaves the table alone (it has said why on standard error). */
typedef int (*mneme_attach_function)(struct mneme_call_table* table);
#define MNEME_ATTACH_SYMBOL "mneme_attach"

/* Environment of a recordable program; where neither interposers nor a file of deployed code are named the
 * runtime forwards at once. */
#define MNEME_ENV_INTERPOSERS "MNEME_INTERPOSERS"   /* ':'-separated paths of interposers, loaded in this order */
#define MNEME_ENV_COMMAND "MNEME_COMMAND"           /* path of the mneme command, for emulation to lower kernels with */
#define MNEME_ENV_RECORD "MNEME_RECORD"             /* options of the recorder, as JSON */
#define MNEME_TUNED_LIBRARY "libmneme_tuned.so"     /* the interposer for it, where MNEME_INTERPOSERS names none */
#define MNEME_ENV_TUNED "MNEME_TUNED"               /* path of a file of `mneme deploy`, whose code takes the place of launches */
#define MNEME_ENV_TUNED_VERIFY "MNEME_TUNED_VERIFY" /* so many launches of each kernel and shape are run both ways first */
#define MNEME_ENV_TUNED_RACE "MNEME_TUNED_RACE"     /* 1: they are timed too, and the slower code is dropped */
#define MNEME_RACED_LAUNCHES 5u                     /* so many at least are timed of each kernel and shape */

#endif
