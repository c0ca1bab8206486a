/* Makes host functions of the device's kernels: see shm/cuda/kernels.cu. Included before anything else. */
#ifndef SFTEST_CUDA_FAKE_KERNEL_H
#define SFTEST_CUDA_FAKE_KERNEL_H

#include <sched.h>
#include <stdint.h>

#define SF_KERNEL __attribute__((visibility("default"))) void
#define SF_ARGUMENT const
#define SF_GLOBAL static
#define SF_INLINE static inline
#define SF_FIRST sftest_cuda_first
#define SF_STEP sftest_cuda_step
#define SF_LOAD(address) __atomic_load_n(address, __ATOMIC_ACQUIRE)
#define SF_STORE(address, value) __atomic_store_n(address, value, __ATOMIC_RELEASE)
#define SF_PAUSE() sched_yield()
#define SF_IS_LAST(arrived) (++*(arrived) == SF_STEP ? (*(arrived) = 0, 1) : 0)

/* The thread that the kernel is being run for, and how many there are. */
extern _Thread_local int64_t sftest_cuda_first;
extern _Thread_local int64_t sftest_cuda_step;

/* Devices have one NaN, whatever went in, and its bits are others than those of processors. */
static inline float sftest_cuda_result_float(float real)
{
  union {
    uint32_t bits;
    float real;
  } nan = {.bits = UINT32_C(0x7fffffff)};
  return real == real ? real : nan.real;
}

static inline double sftest_cuda_result_double(double real)
{
  union {
    uint64_t bits;
    double real;
  } nan = {.bits = UINT64_C(0x7fffffffffffffff)};
  return real == real ? real : nan.real;
}
#define SF_RESULT(real) _Generic((real), float : sftest_cuda_result_float, double : sftest_cuda_result_double)(real)

/* Threads of a kernel run one after the other. */
#define SF_ATOMIC_SUM(at, in) (*(at) += (in))
#define SF_ATOMIC_MAX(at, in) (*(at) = (in) > *(at) ? (in) : *(at))
#define SF_ATOMIC_MIN(at, in) (*(at) = (in) < *(at) ? (in) : *(at))

#endif
