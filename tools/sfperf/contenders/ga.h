/* Global Arrays as a contender, where sfperf was built with it. */
#ifndef SFPERF_CONTENDERS_GA_H
#define SFPERF_CONTENDERS_GA_H

#include "tools/sfperf/contenders/rma.h"
#include "tools/sfperf/contenders/tiles.h"

/* Line for people if sfperf was built without Global Arrays; NULL: with. */
extern const char *const sfperf_ga_note;

/* To be called once, before the contenders' create and after their destroy. Collective. */
void sfperf_ga_start(void);
void sfperf_ga_stop(void);

/* "ga": NGA_Put, NGA_Acc, each within GA_Init_fence and GA_Fence; NGA_Get; NGA_Read_inc. NULL when built without. */
extern const sfperf_rma_method_t *const sfperf_rma_ga;

/* "ga": NGA_Read_inc, NGA_Acc, NGA_Get, GA_Sync. The matrix is divided into one block for each rank, as Global Arrays
 * do by themselves: one element at a time, each would be a message. NULL when built without. */
extern const sfperf_tiles_method_t *const sfperf_tiles_ga;

#endif
