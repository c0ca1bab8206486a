/* A scatter between memory of any kind, as the kernels of the plugin (kernel_tables.c) describe it to those that run it
 * (launch.c). Any thread. */
#ifndef SFSHM_CUDA_JOB_H
#define SFSHM_CUDA_JOB_H

#include "shm/edges/pattern.h"
#include "shm/kernels/unit.h"
#include "shm/observe/trace.h"

/* The arguments of a kernel of the host (shm/kernels/kernels.h). */
typedef struct sfshm_cuda_job {
  sfshm_unit_t unit;
  sfshm_op_t op;
  const sfshm_pattern_t *from_pattern;
  int64_t from_bias;
  const char *from;
  const sfshm_pattern_t *to_pattern;
  char *to;
  int64_t first;
  int64_t n;
  bool unordered; /* contributions to a vertex may be combined in any order */
  sfshm_trace_work_t work;
} sfshm_cuda_job_t;

/* The pattern of n units that stand one behind the other, beginning with unit number first. */
static inline sfshm_pattern_t sfshm_cuda_packed_from(int64_t first, int64_t n)
{
  return sfshm_pattern_contiguous(-first, first + n);
}

/* Runs the job and waits until it is done. A failure is kept for whoever asks the device next. */
void sfshm_cuda_run(const sfshm_cuda_job_t *job);

#endif
