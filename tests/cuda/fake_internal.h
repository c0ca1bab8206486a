/* What the files of the stand-in for the CUDA driver share. One lock for all; kernels and host functions run without
 * it. */
#ifndef SFTEST_CUDA_FAKE_INTERNAL_H
#define SFTEST_CUDA_FAKE_INTERNAL_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "docs/examples/cuda/async_cg_kernels.h"
#include "shm/cuda/kernels.h"

#define SFTEST_MAX_DEVICES 8

/* A kernel by the form of its argument. */
typedef struct sftest_kernel {
  void (*one)(sfshm_cuda_one_t args);
  void (*several)(sfshm_cuda_several_t args);
  void (*cg)(cg_args_t args); /* of an example */
} sftest_kernel_t;

struct CUctx_st {
  int device;
  int retained;
  CUstream by_default; /* NULL: not used yet */
};

struct CUfunc_st {
  struct CUfunc_st *next;
  CUcontext context;
  sftest_kernel_t kernel;
  uintptr_t element_bytes; /* to which its arrays are aligned; 1: not known */
  bool loaded;
};

/* With the lock held, which is released meanwhile: the function can be launched. */
void sftest_cuda_load(CUfunction function);

extern pthread_mutex_t sftest_cuda_lock;

/* Locks it until the function returns. */
#define SFTEST_CUDA_LOCK()                                                                                             \
  __attribute__((cleanup(sftest_cuda_unlock))) pthread_mutex_t *locked = &sftest_cuda_lock;                            \
  pthread_mutex_lock(locked)
static inline void sftest_cuda_unlock(pthread_mutex_t *const *locked)
{
  pthread_mutex_unlock(*locked);
}

extern CUresult sftest_cuda_sticky; /* of the first launch that failed */

/* With the lock held: whether this call is the one that is to fail; and a random number. */
bool sftest_cuda_is_to_fail(const char *function);
uint64_t sftest_cuda_chance(void);

/* That of a device: the primary one, or another. */
CUcontext sftest_cuda_context(int32_t device, bool elsewhere);

/* The thread's context; NULL: none. */
CUcontext sftest_cuda_current(void);

/* What a call that needs a context meets: CUDA_SUCCESS; CUDA_ERROR_INVALID_CONTEXT, if the thread has none;
 * CUDA_ERROR_NOT_INITIALIZED, if another process has called cuInit, of which this is a child. From within a function of
 * the host on a stream no call is allowed: that ends the process. */
CUresult sftest_cuda_enter(void);
#define SFTEST_CUDA_ENTER()                                                                                            \
  do {                                                                                                                 \
    CUresult entered = sftest_cuda_enter();                                                                            \
    if (entered != CUDA_SUCCESS)                                                                                       \
      return entered;                                                                                                  \
  } while (0)

/* Ends the process in calls that spoil the capture of a stream. */
void sftest_cuda_forbid_in_captures(void);

/* Around a function of the host on a stream, by the stream's thread. */
void sftest_cuda_begin_call(void);
void sftest_cuda_end_call(void);

/* With the lock held: whether kernels of that device can touch the address: memory of the device, or of one that it has
 * been given access to, or pinned. */
bool sftest_cuda_can_touch(int device, const void *address);
bool sftest_cuda_has_access(int device, int peer);

/* With the lock held: whether it is memory of a device, or pinned. */
bool sftest_cuda_is_known(const void *address);

/* With the lock held, as often closed as opened: memory of devices can be touched while it is open. */
void sftest_cuda_open_memory(void);
void sftest_cuda_close_memory(void);

/* With the lock held, which is released meanwhile: until the work told so far is done, of all streams or of those that
 * the default stream waits for. */
void sftest_cuda_finish(bool all);

#endif
