/* The CUDA plugin in this process, on a stand-in for the driver (tests/cuda), or on a real one if SFTEST_CUDA=real, and
 * arrays on its devices. */
#ifndef SFTEST_CUDA_PLUGIN_H
#define SFTEST_CUDA_PLUGIN_H

#include "shm/device/device.h"
#include "tests/cuda/fake_driver.h"
#include "tests/unit/runner.h"

/* The plugin, and what tests ask of the driver. */
extern const sfshm_device_ops_t *device;
extern struct sftest_cuda {
  sftest_cuda_alloc_fn_t *alloc;
  sftest_cuda_free_fn_t *free;
  sftest_cuda_copy_fn_t *copy;
  sftest_cuda_live_fn_t *live;
  sftest_cuda_stream_create_fn_t *stream_create;
  sftest_cuda_stream_fn_t *stream_destroy;
  sftest_cuda_stream_fn_t *stream_finish;
  sftest_cuda_stream_capture_fn_t *stream_capture;
  sftest_cuda_launched_fn_t *launched; /* NULL: a real driver */
  sftest_cuda_copied_fn_t *copied;     /* likewise */
} cuda;

/* Whether the driver is a real one, which can't be told what to do. */
bool sftest_cuda_is_real(void);

/* Loads both. False, said aloud, where the plugin was not built: the test is to exit with 77 then. */
bool sftest_cuda_load(void);

/* Opens the devices as the environment says, and begins the random numbers anew. The setup of a case, or its end. */
void sftest_cuda_open(void);

/* The same, but every way between devices, and within one, goes through the host. */
void sftest_cuda_open_switched_off(void);

int64_t sftest_cuda_random(int64_t bound);

/* An array, maybe on a device, with the same random values in both. */
typedef struct sftest_array {
  size_t length_bytes;
  char *host;        /* what must be in it */
  char *actual;      /* the array itself */
  int where;         /* device, or that which takes its place where there are not so many; -1: host */
  sfshm_base_t base; /* of numbers in it: NaNs compare as NaNs; 0: all bytes count */
} sftest_array_t;

sftest_array_t sftest_array_make(size_t length_bytes, int where);
void sftest_array_free(sftest_array_t *array);
void sftest_array_check_and_free(sftest_array_t *array);

#endif
