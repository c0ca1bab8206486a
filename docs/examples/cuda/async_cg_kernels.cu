/* The kernels of async_cg: vectors and one sparse matrix. The subset of C++ that is C, like those of the library. */
#include "cuda/async_cg_kernels.h"

#ifndef SF_KERNEL
#define SF_KERNEL extern "C" __global__ void
#define SF_INLINE static __device__ __forceinline__
#define SF_FIRST ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SF_STEP ((int64_t)gridDim.x * blockDim.x)
#endif

SF_INLINE double factor_of(const cg_args_t *args)
{
  return args->numerator != 0 ? *args->numerator / *args->denominator : args->factor;
}

/* y = M x, with ghosts for the columns of other ranks. */
SF_KERNEL cg_multiply(cg_args_t args)
{
  for (int64_t i = SF_FIRST; i < args.n; i += SF_STEP) {
    double sum = 0;
    for (int32_t k = args.row_start[i]; k < args.row_start[i + 1]; k++) {
      int32_t column = args.column[k];
      sum += args.value[k] * (column < args.nown ? args.x[column] : args.ghosts[column - args.nown]);
    }
    args.y[i] = sum;
  }
}

/* The parts of x . y, and then their sum, always in the same order: that of a few sums at a time, so that not each
 * addition waits for the one before. */
SF_KERNEL cg_dot_parts(cg_args_t args)
{
  for (int64_t part = SF_FIRST; part < CG_PARTS; part += SF_STEP) {
    double sum = 0;
    for (int64_t i = part; i < args.n; i += CG_PARTS)
      sum += args.x[i] * args.y[i];
    args.parts[part] = sum;
  }
}

SF_KERNEL cg_dot_sum(cg_args_t args)
{
  for (int64_t i = SF_FIRST; i < 1; i += SF_STEP) {
    double sums[CG_SUMS] = {0}, sum = 0;
    for (int part = 0; part < CG_PARTS; part += CG_SUMS)
      for (int k = 0; k < CG_SUMS; k++)
        sums[k] += args.parts[part + k];
    for (int k = 0; k < CG_SUMS; k++)
      sum += sums[k];
    *args.sum = sum;
    *args.total = 0;
  }
}

/* y += a x, z -= a ghosts: the solution and the residual, with p and q. */
SF_KERNEL cg_step(cg_args_t args)
{
  double a = factor_of(&args);
  for (int64_t i = SF_FIRST; i < args.n; i += SF_STEP) {
    args.y[i] += a * args.x[i];
    args.z[i] -= a * args.ghosts[i];
  }
}

/* y = x + b y: the next direction. */
SF_KERNEL cg_turn(cg_args_t args)
{
  double b = factor_of(&args);
  for (int64_t i = SF_FIRST; i < args.n; i += SF_STEP)
    args.y[i] = args.x[i] + b * args.y[i];
}
