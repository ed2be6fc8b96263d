/* CUDA's row for recordable.c. */
#ifndef MNEME_RUNTIME_CALLS_CUDA_H
#define MNEME_RUNTIME_CALLS_CUDA_H

#include "mneme/abi/cuda_calls.inc"

#define MNEME_ROW_CALLS MNEME_CUDA_CALLS
#define MNEME_ROW_COUNT MNEME_CALL_COUNT
#define MNEME_ROW_DIGEST MNEME_CUDA_CALLS_DIGEST
#define MNEME_ROW_SLOTS mneme_call_slots
#define MNEME_ROW_DEVICE MNEME_TABLE_CUDA
#define MNEME_ROW_NOTE MNEME_NOTE_TYPE
#define MNEME_ROW_LINKAGE /* each function must be there: the static runtime has all of one version */

#endif
