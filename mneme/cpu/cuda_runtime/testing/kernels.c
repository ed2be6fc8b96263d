/* For tests: a CPU device image written by hand. Its global `state` is bound to the first address that emulation gives out. */
#include "mneme/cpu/run/image.h"

#define EXPORT __attribute__((visibility("default")))
#define STATE ((int*)0x7b0000000000)

struct scale_parameters {
  int* data;
  int factor;
  int count;
};

/* data[i] *= factor, and counts launches in `state`. */
static void scale(const void* parameters, struct mneme_cpu_block* block) {
  const struct scale_parameters* p = (const struct scale_parameters*)parameters;
  for (uint32_t thread = 0; thread < block->block[0]; ++thread) {
    int i = (int)(block->index[0] * block->block[0] + thread);
    if (i < p->count) p->data[i] *= p->factor;
  }
  if (block->index[0] == 0) ++*STATE;
}

static void fault(const void* parameters, struct mneme_cpu_block* block) { *(volatile int*)8 = 1; }

EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_scale = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, sizeof(struct scale_parameters), 64, 0, 512, 0, scale, 0};
EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_fault = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, 0, 0, 0, 0, 0, fault, 0};

static const int initial_state = 40;
static const struct mneme_cpu_global globals[] = {{"state", STATE, sizeof(int), &initial_state, 1, 0}};
EXPORT const struct mneme_cpu_image __mneme_cpu_image = {MNEME_CPU_IMAGE_VERSION, 1, globals};
