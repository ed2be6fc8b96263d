/* HIP's row for recordable.c. */
#ifndef MNEME_RUNTIME_CALLS_HIP_H
#define MNEME_RUNTIME_CALLS_HIP_H

#include "mneme/abi/hip_calls.inc"

#define MNEME_ROW_CALLS MNEME_HIP_CALLS
#define MNEME_ROW_COUNT MNEME_HIP_CALL_COUNT
#define MNEME_ROW_DIGEST MNEME_HIP_CALLS_DIGEST
#define MNEME_ROW_SLOTS mneme_hip_call_slots
#define MNEME_ROW_DEVICE MNEME_TABLE_HIP
#define MNEME_ROW_NOTE MNEME_NOTE_TYPE_HIP
#define MNEME_ROW_LINKAGE __attribute__((weak)) /* the program's ROCm may be older than the list, and lack some */

#endif
